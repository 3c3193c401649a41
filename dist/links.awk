# Of a page in Markdown, in directory, leaves out the links to files that are not there; their text stays.
# Reads the page as a whole, as the text of a link may go on in the next line.
BEGIN { RS = "\001" }
{
  rest = $0
  while (match(rest, /\[[^]]*\]\([^) #]+(#[^) ]*)?\)/)) {
    link = substr(rest, RSTART, RLENGTH)
    printf "%s", substr(rest, 1, RSTART - 1)
    rest = substr(rest, RSTART + RLENGTH)
    text = substr(link, 2, index(link, "](") - 2)
    target = substr(link, length(text) + 4)
    sub(/[#)].*/, "", target)
    there = target ~ /^[a-z]+:/ || system("test -e \"" directory "/" target "\"") == 0
    printf "%s", there ? link : text
  }
  printf "%s", rest
}
