package io.homeostat.desired.model;

import com.google.common.collect.ImmutableBiMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.Ints;
import java.util.Locale;
import java.util.Optional;

/** The names of Linux' signals, signal(7): the same on every architecture that a JVM 25 runs on. */
public final class SignalNames {
    private static final ImmutableBiMap<String, Integer> NUMBERS = ImmutableBiMap.<String, Integer>builder()
            .put("SIGHUP", 1)
            .put("SIGINT", 2)
            .put("SIGQUIT", 3)
            .put("SIGILL", 4)
            .put("SIGTRAP", 5)
            .put("SIGABRT", 6)
            .put("SIGBUS", 7)
            .put("SIGFPE", 8)
            .put("SIGKILL", 9)
            .put("SIGUSR1", 10)
            .put("SIGSEGV", 11)
            .put("SIGUSR2", 12)
            .put("SIGPIPE", 13)
            .put("SIGALRM", 14)
            .put("SIGTERM", 15)
            .put("SIGSTKFLT", 16)
            .put("SIGCHLD", 17)
            .put("SIGCONT", 18)
            .put("SIGSTOP", 19)
            .put("SIGTSTP", 20)
            .put("SIGTTIN", 21)
            .put("SIGTTOU", 22)
            .put("SIGURG", 23)
            .put("SIGXCPU", 24)
            .put("SIGXFSZ", 25)
            .put("SIGVTALRM", 26)
            .put("SIGPROF", 27)
            .put("SIGWINCH", 28)
            .put("SIGIO", 29)
            .put("SIGPWR", 30)
            .put("SIGSYS", 31)
            .buildOrThrow();

    private SignalNames() {}

    /** All of them, in full. */
    public static ImmutableSet<String> all() {
        return NUMBERS.keySet();
    }

    /** The number of a signal; empty when none has that name. */
    public static Optional<Integer> number(String name) {
        return Optional.ofNullable(NUMBERS.get(name));
    }

    /** The name of a signal as people write it: {@code TERM}, {@code sigterm} or {@code 15}; empty when that is none. */
    public static Optional<String> named(String word) {
        String upper = word.toUpperCase(Locale.ROOT);
        String name = NUMBERS.containsKey(upper) ? upper : "SIG" + upper;
        if (NUMBERS.containsKey(name)) {
            return Optional.of(name);
        }
        Integer number = Ints.tryParse(word);
        return number == null
                ? Optional.empty()
                : Optional.ofNullable(NUMBERS.inverse().get(number));
    }

    /** For people: {@code 11 (SIGSEGV)}, and the number alone of what has no name. */
    public static String words(int number) {
        String name = NUMBERS.inverse().get(number);
        return name == null ? Integer.toString(number) : number + " (" + name + ")";
    }
}
