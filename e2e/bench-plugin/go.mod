module homeostat.io/bench-plugin

go 1.24
