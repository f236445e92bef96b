# Completion of siding for bash; `siding completions bash` prints it.
_siding() {
    local word
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        # A word that is quoted already is left to readline.
        [[ $2 == [\'\"]* ]] || printf -v word %q "$word"
        COMPREPLY+=("$word")
    done < <("$1" complete-words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[\(=] ]]; then
        compopt -o nospace
    fi
}
complete -o default -o bashdefault -F _siding siding
