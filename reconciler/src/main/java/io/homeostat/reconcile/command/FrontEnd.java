package io.homeostat.reconcile.command;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.WorkloadId;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Optional;
import java.util.regex.Pattern;

/** A server for another program, which an agent enforces what it is asked for: everything under a source of its own. */
public enum FrontEnd {
    /** {@code homeostat nomad-driver}. */
    NOMAD_DRIVER("nomad-driver", "nomad", SourceName.NOMAD),
    /** {@code homeostat guest}. */
    GUEST("guest", "guest", SourceName.GUEST);

    private static final Pattern NOT_OF_NAMES = Pattern.compile("[^A-Za-z0-9.-]+");
    private static final int READABLE = 40;
    private static final int DIGITS = 16;

    private final String command;
    private final String prefix;
    private final SourceName source;

    FrontEnd(String command, String prefix, SourceName source) {
        this.command = command;
        this.prefix = prefix;
        this.source = source;
    }

    /** By which it is started, and its files are called. */
    public String command() {
        return command;
    }

    public SourceName source() {
        return source;
    }

    /**
     * What it declares something as: named for people, and after the whole id, which nothing else has.
     *
     * @param readable of which what may stand in a name is taken
     */
    public WorkloadId workload(String kind, String readable, String id) {
        String words = NOT_OF_NAMES.matcher(readable).replaceAll("-");
        String hash = Hashing.sha256()
                .hashString(id, StandardCharsets.UTF_8)
                .toString()
                .substring(0, DIGITS);
        String name = prefix + "-" + words.substring(0, Math.min(READABLE, words.length())) + "-" + hash;
        return WorkloadId.parse(kind + "/" + name)
                .orElseThrow(() -> new IllegalStateException("no name of a workload: " + name));
    }

    /** As requests name it: the first one not at all. */
    static Optional<FrontEnd> ofCommand(String command) {
        return command.isEmpty()
                ? Optional.of(NOMAD_DRIVER)
                : Arrays.stream(values())
                        .filter(one -> one.command.equals(command))
                        .findFirst();
    }
}
