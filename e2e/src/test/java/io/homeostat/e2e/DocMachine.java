package io.homeostat.e2e;

import io.homeostat.controlplane.FreePorts;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The machine of whoever reads the documentation: what pages call its directories, ports and programs, and what they are here. */
final class DocMachine {
    private final Map<String, String> places = new LinkedHashMap<>();
    private final String path;

    /** Makes the directories, and prepares the commands of a test. */
    DocMachine(Homeostat homeostat) throws IOException {
        Files.delete(homeostat.desired());
        Path bin = Files.createDirectories(homeostat.stateDir().resolveSibling("bin"));
        program(bin.resolve("homeostat"), """
                #!/bin/sh
                case " $* " in *" --state-dir "*) exec %1$s "$@" ;; esac
                exec %1$s --state-dir %2$s --run-dir %3$s "$@"
                """.formatted(
                        Distribution.program(), homeostat.stateDir(), homeostat.runDir()));
        // That of the build, which may be no program of the machine, and has fetched all that is needed.
        program(bin.resolve("mvn"), """
                #!/bin/sh
                export JAVA_HOME='%s' MAVEN_OPTS=--sun-misc-unsafe-memory-access=allow
                # It resets the colours of a terminal even where there is none.
                said=$('%s' -o -B -ntp -Dstyle.color=never '-Dmaven.repo.local=%s' "$@" 2>&1)
                status=$?
                printf '%%s' "$said" | sed "s/$(printf '\\033')\\[[0-9;]*m//g"
                exit $status
                """.formatted(
                        System.getProperty("java.home"),
                        Distribution.property("homeostat.maven"),
                        Distribution.property("homeostat.maven.repository")));
        Path etc = Files.createDirectories(homeostat.stateDir().resolveSibling("etc"));
        Path home = Files.createDirectories(homeostat.stateDir().resolveSibling("h"));
        path = bin + ":" + System.getenv("PATH");
        homeostat.environment("PATH", path);
        homeostat.environment("HOME", home.toString());
        homeostat.environment("XDG_STATE_HOME", home.resolve("state").toString());
        homeostat.environment("XDG_CONFIG_HOME", home.resolve("config").toString());
        places.put("/var/lib/homeostat", homeostat.stateDir().toString());
        places.put("/run/homeostat", homeostat.runDir().toString());
        places.put("/etc/homeostat", etc.toString());
        places.put("/usr/lib/jvm/default-java", System.getProperty("java.home"));
        // Before the directory that it is said to be in.
        places.put("/home/you/homeostat", Distribution.checkout().toString());
        places.put("/home/you", homeostat.directory().toString());
        for (String port : List.of("9464", "9465", "2379", "2380")) {
            places.put("127.0.0.1:" + port, "127.0.0.1:" + FreePorts.take());
        }
    }

    private static void program(Path file, String script) throws IOException {
        Files.writeString(file, script);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    /** Where commands are looked for. */
    String path() {
        return path;
    }

    /** What a page shows, with the places of this machine. */
    String here(String text) {
        String here = text;
        for (Map.Entry<String, String> place : places.entrySet()) {
            here = here.replace(place.getKey(), place.getValue());
        }
        return here;
    }

    /** What this machine shows, with the places of the page. */
    String there(String text) {
        String there = text;
        for (Map.Entry<String, String> place : places.entrySet()) {
            there = there.replace(place.getValue(), place.getKey());
        }
        return there;
    }
}
