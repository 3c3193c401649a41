package io.homeostat.desired.fleet;

import com.google.common.hash.Hasher;
import com.google.common.hash.Hashing;
import io.homeostat.desired.model.RolloutSpec;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.stream.Stream;

/**
 * A rollout as it is published.
 *
 * @param digest of what it brings where and in which order: what was decided for another one does not count for this one
 */
public record Rollout(String name, RolloutSpec spec, String digest) {
    /** The place in the order of all that is before every machine's. */
    public static final String NOBODY = "";

    /** The place in the order that no machine is behind. */
    public static final String EVERYBODY = "g";

    /** The most characters of a machine's place. */
    static final int PLACE_DIGITS = 16;

    /** Its digest leaves out how it is paced, which may be changed on the way: another digest would have all machines go back first. */
    public static Rollout of(String name, RolloutSpec spec) {
        Hasher hasher = Hashing.sha256().newHasher();
        Stream.of(
                        Stream.of(name, seed(name, spec), spec.from(), spec.to()),
                        spec.workloads().stream().sorted())
                .flatMap(parts -> parts)
                .forEach(part -> hasher.putInt(part.length()).putString(part, StandardCharsets.UTF_8));
        return new Rollout(name, spec, hasher.hash().toString());
    }

    private static String seed(String name, RolloutSpec spec) {
        return spec.seed() == null ? name : spec.seed();
    }

    /** Returns the place of a machine in the order in which machines get the new revision: hexadecimal digits, which are compared as text. */
    public String place(String instanceId) {
        String seed = seed(name, spec);
        byte[] hash = Hashing.sha256()
                .hashString(seed.length() + ":" + seed + instanceId, StandardCharsets.UTF_8)
                .asBytes();
        return HexFormat.of().formatHex(hash, 0, PLACE_DIGITS / 2);
    }
}
