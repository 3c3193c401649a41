# fish completion for homeostat. To load it now: homeostat completion fish | source
function __homeostat_complete
    set -l words
    for word in (commandline -opc)
        # Quotes are gone by now, variables are not.
        for name in (string match -ar '\$\w+' -- $word | string sub -s 2)
            set word (string replace -- "\$$name" "$$name" $word)
        end
        set -a words $word
    end
    set -l current (commandline -ct)
    set -l reply ($words[1] complete -- $words[2..-1] $current 2>/dev/null)
    # The option in front of =VALUE stays as it is.
    set -l option (string match -r '^--[^=]+=' -- $current)
    test -n "$option"; or set option ''
    set -l value (string replace -r '^--[^=]+=' '' -- $current)
    switch "$reply[1]"
        case :files
            # As of a command that nobody knows: fish itself knows what quotes, tildes and variables are.
            printf '%s\n' $option(complete -C "'' $value")
        case :directories
            printf '%s\n' $option(__fish_complete_directories $value)
        case :words
            printf '%s\n' $option$reply[2..-1]
    end
end
complete -c homeostat -f -a '(__homeostat_complete)'
