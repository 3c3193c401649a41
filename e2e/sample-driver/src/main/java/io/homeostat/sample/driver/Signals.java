package io.homeostat.sample.driver;

import java.io.IOException;
import java.util.Set;

/** Signals by their full names. */
final class Signals {
    static final String KILL = "SIGKILL";
    static final String TERMINATE = "SIGTERM";

    private static final Set<String> NAMES = Set.of(
            "SIGABRT",
            "SIGALRM",
            "SIGBUS",
            "SIGCHLD",
            "SIGCONT",
            "SIGFPE",
            "SIGHUP",
            "SIGILL",
            "SIGINT",
            KILL,
            "SIGPIPE",
            "SIGPROF",
            "SIGQUIT",
            "SIGSEGV",
            "SIGSTOP",
            "SIGSYS",
            TERMINATE,
            "SIGTRAP",
            "SIGTSTP",
            "SIGTTIN",
            "SIGTTOU",
            "SIGURG",
            "SIGUSR1",
            "SIGUSR2",
            "SIGVTALRM",
            "SIGWINCH",
            "SIGXCPU",
            "SIGXFSZ");

    private Signals() {}

    static boolean isKnown(String name) {
        return NAMES.contains(name);
    }

    /** Nothing happens when the process has gone meanwhile. */
    static void send(String name, long pid) throws IOException, InterruptedException {
        new ProcessBuilder(
                        "/bin/sh",
                        "-c",
                        "kill -s \"$1\" \"$2\"",
                        "kill",
                        name.substring("SIG".length()),
                        Long.toString(pid))
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }
}
