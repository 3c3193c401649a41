package io.homeostat.desired.model;

import java.util.Arrays;
import java.util.Optional;

/** Who may declare workloads, the strongest first: where two declare the same one, the earlier of this list wins. */
public enum SourceName {
    CONTROL_PLANE("controlPlane"),
    APPLIED("applied"),
    /** Tasks that a Nomad client has given to {@code homeostat nomad-driver}. */
    NOMAD("nomad"),
    /** Containers that whoever runs a virtual machine has asked {@code homeostat guest} for in it. */
    GUEST("guest"),
    FILES("files"),
    /** A set that was published into etcd; the sources of sets are weaker than files, so that somebody on the machine has the last word. */
    ETCD("etcd"),
    /** A set in a bucket. */
    BUCKET("bucket"),
    /** A set that a web server has. */
    HTTPS("https"),
    /** A directory of a git repository. */
    GIT("git"),
    LOCAL("local");

    private final String word;

    SourceName(String word) {
        this.word = word;
    }

    /** As shown in status and used in agent.yaml. */
    public String word() {
        return word;
    }

    /** The source of that word; empty when there is none. */
    public static Optional<SourceName> ofWord(String word) {
        return Arrays.stream(values())
                .filter(source -> source.word.equals(word))
                .findFirst();
    }
}
