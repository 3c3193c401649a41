#compdef homeostat
# zsh completion for homeostat. To load it now: source <(homeostat completion zsh)
# A word as the shell would hand it over; as it is typed where it takes more than quotes and variables to know.
_homeostat_expand() {
  local plain="[^]\"'\$\`\\\\;&|<>(){}!*?[[:space:]]"
  local variable='\$[A-Za-z_][A-Za-z_0-9]*|\$\{[A-Za-z_][A-Za-z_0-9]*\}'
  local quoted="\\\\.|'[^']*'|\"([^\"\$\`\\\\]|\\\\.|$variable)*\""
  expanded=$1
  # Nothing else comes before eval: completing runs no command.
  if [[ $1 =~ ^($plain|$variable|$quoted)*$ ]]; then eval "expanded=$1"; fi
}
_homeostat() {
  local line word expanded
  local -a before reply described
  for word in "${(@)words[2,CURRENT-1]}"; do
    _homeostat_expand "$word"
    before+=("$expanded")
  done
  reply=("${(@f)$("${words[1]}" complete -- "${(@)before}" "${words[CURRENT]}" 2>/dev/null)}")
  # The option in front of =VALUE stays as it is.
  [[ ${words[CURRENT]} != --*=* ]] || compset -P '*='
  case ${reply[1]-} in
    :files) _files ;;
    :directories) _files -/ ;;
    :words)
      for line in "${(@)reply[2,-1]}"; do
        [[ -z $line ]] || described+=("${${line%%$'\t'*}//:/\\:}:${${(M)line%$'\t'*}#$'\t'}")
      done
      (( $#described == 0 )) || _describe homeostat described
      ;;
  esac
}
if [[ ${funcstack[1]-} = _homeostat ]]; then
  _homeostat "$@"
elif (( $+functions[compdef] )); then
  compdef _homeostat homeostat
fi
