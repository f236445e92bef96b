# Completion of siding for fish; `siding completions fish` prints it.
function __siding_words
    set -l words (commandline -opc) (commandline -ct)
    set -l found (command siding complete-words -- $words[2..-1] 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c siding -f -a '(__siding_words)'
