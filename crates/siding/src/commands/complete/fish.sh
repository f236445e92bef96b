# Completion of siding for fish; `siding completions fish` prints it.
function __siding_words
    set -l before (commandline -opc)
    set -l cursor (commandline -ct)
    set -l found (command siding complete-words -- $before[2..-1] "$cursor" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c siding -f -a '(__siding_words)'
