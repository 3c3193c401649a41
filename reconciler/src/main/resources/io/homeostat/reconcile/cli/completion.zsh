#compdef homeostat
# zsh completion for homeostat. To load it now: source <(homeostat completion zsh)
#include completion.expand
_homeostat() {
  local line word about expanded
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
        word=${${line%%$'\t'*}//:/\\:} about=${${(M)line%$'\t'*}#$'\t'}
        [[ -z $line ]] || described+=("$word${about:+:$about}")
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
