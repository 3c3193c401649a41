package io.homeostat.desired.fleet;

import com.google.common.hash.Hashing;
import io.homeostat.desired.model.RolloutSpec;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;

/**
 * A rollout as it is published.
 *
 * @param digest of its document: what was decided for another one does not count for this one
 */
public record Rollout(String name, RolloutSpec spec, String digest) {
    /** The place in the order of all that is before every machine's. */
    public static final String NOBODY = "";

    /** The place in the order that no machine is behind. */
    public static final String EVERYBODY = "g";

    /** Where a machine stands in the order in which machines get the new revision: 16 hexadecimal digits, which are compared as text. */
    public String place(String instanceId) {
        String seed = spec.seed() == null ? name : spec.seed();
        byte[] hash = Hashing.sha256()
                .hashString(seed.length() + ":" + seed + instanceId, StandardCharsets.UTF_8)
                .asBytes();
        return HexFormat.of().formatHex(hash, 0, 8);
    }
}
