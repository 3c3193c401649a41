package io.homeostat.e2e.measure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * The program that is measured: first of all it appends the time and its number to the file of its argument {@code --stamps=FILE};
 * then it becomes the program beside it that has {@code .real} after its name, without that argument, or sleeps when there is none.
 *
 * <p>A static C program. Without a C compiler it is a shell script that leaves the time to whoever reads the file, who looks every
 * half millisecond: all times are then longer by the start of a shell.
 */
public final class StampProgram {
    private static final String SOURCE = """
            #include <fcntl.h>
            #include <stdio.h>
            #include <string.h>
            #include <time.h>
            #include <unistd.h>

            int main(int argc, char **argv) {
              struct timespec now;
              clock_gettime(CLOCK_MONOTONIC, &now);
              int kept = 1;
              for (int i = 1; i < argc; i++) {
                if (strncmp(argv[i], "--stamps=", 9) != 0) {
                  argv[kept++] = argv[i];
                  continue;
                }
                char line[64];
                int length = snprintf(line, sizeof line, "%lld %d\\n", now.tv_sec * 1000000000LL + now.tv_nsec, getpid());
                int file = open(argv[i] + 9, O_WRONLY | O_APPEND | O_CREAT, 0600);
                if (file < 0 || write(file, line, length) != length) return 1;
                close(file);
              }
              argv[kept] = NULL;
              char real[4096];
              ssize_t length = readlink("/proc/self/exe", real, sizeof real - 6);
              if (length > 0) {
                strcpy(real + length, ".real");
                if (access(real, X_OK) == 0) {
                  execv(real, argv);
                  return 1;
                }
              }
              for (;;) pause();
            }
            """;

    private static final String SCRIPT = """
            #!/bin/sh
            hs_count=$#
            while [ "$hs_count" -gt 0 ]; do
              case $1 in
                --stamps=*) echo "0 $$" >>"${1#*=}" ;;
                *) set -- "$@" "$1" ;;
              esac
              shift
              hs_count=$((hs_count - 1))
            done
            if [ -x "$0.real" ]; then exec "$0.real" "$@"; fi
            exec sleep 1000000
            """;

    private StampProgram() {}

    /** Makes it, and says how. */
    public static String create(Workplace workplace, Path file) throws IOException, InterruptedException {
        Files.createDirectories(file.getParent());
        if (!Tools.find("cc").isPresent()) {
            Path script = workplace.executable("stamp.sh", SCRIPT);
            Files.copy(script, file);
            return "shell script (there is no cc)";
        }
        Path source = workplace.write("stamp.c", SOURCE);
        String said = workplace.run(List.of("cc", "-O2", "-static", "-o", file.toString(), source.toString()));
        return said.isBlank() ? "static C program" : said;
    }
}
