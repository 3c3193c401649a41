package io.homeostat.reconcile.command.plugin;

import io.homeostat.desired.model.Config;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** What happens to the machine, of which plugins may want to know. */
public enum VmEvent {
    STARTUP,
    SHUTDOWN,
    /** The phase of that name when Windows is generalised. */
    SPECIALIZE;

    /** As it is typed, and as plugins know it. */
    public String word() {
        return name().toLowerCase(Locale.ROOT);
    }

    public static Optional<VmEvent> ofWord(String word) {
        return Arrays.stream(values())
                .filter(event -> event.word().equals(word))
                .findFirst();
    }

    /** "startup, shutdown, specialize". */
    public static String words() {
        return Arrays.stream(values()).map(VmEvent::word).collect(Collectors.joining(", "));
    }

    /** What plugins are told by Apply, letter for letter as those expect it that were written for Google's guest agent. */
    Config message() {
        return new Config("{\"Command\":\"VmEvent\",\"Event\":\"" + word() + "\"}", null);
    }
}
