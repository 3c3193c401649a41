# fish completion for homeostat. To load it now: homeostat completion fish | source
function __homeostat_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l reply ($words[1] complete -- $words[2..-1] $current 2>/dev/null)
    # The option in front of =VALUE stays as it is.
    set -l option (string match -r '^--[^=]+=' -- $current)
    test -n "$option"; or set option ''
    set -l value (string replace -r '^--[^=]+=' '' -- $current)
    switch "$reply[1]"
        case :files
            printf '%s\n' $option(__fish_complete_path $value)
        case :directories
            printf '%s\n' $option(__fish_complete_directories $value)
        case :words
            printf '%s\n' $option$reply[2..-1]
    end
end
complete -c homeostat -f -a '(__homeostat_complete)'
