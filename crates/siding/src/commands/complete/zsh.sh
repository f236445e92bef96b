#compdef siding
# Completion of siding for zsh; `siding completions zsh` prints it.
_siding() {
    local word what
    local -a closed open
    while IFS=$'\t' read -r word what; do
        if [[ $word == *[\(=] ]]; then
            open+=("${word//:/\\:}:$what")
        else
            closed+=("${word//:/\\:}:$what")
        fi
    done < <(command siding complete-words -- "${(Q)words[@]:1:CURRENT-1}" 2>/dev/null)
    if (( ${#closed} + ${#open} )); then
        _describe -t words siding closed -- open -S ''
    else
        _files
    fi
}
if [[ $funcstack[1] == _siding ]]; then
    _siding "$@"
else
    compdef _siding siding
fi
