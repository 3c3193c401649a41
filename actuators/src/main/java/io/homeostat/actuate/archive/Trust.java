package io.homeostat.actuate.archive;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.AgentConfig;
import java.nio.file.Path;

/**
 * Whose archives may be installed.
 *
 * @param required whether an archive without a signature of theirs may not
 */
public record Trust(boolean required, TrustedKeys keys) {
    /** Everybody's. */
    public static final Trust ANYBODY = new Trust(false, TrustedKeys.NONE);

    /**
     * As configured.
     *
     * @throws ActuationFailure when a key can't be read
     */
    public static Trust of(AgentConfig.Signatures signatures) throws ActuationFailure {
        return new Trust(
                signatures.require(),
                TrustedKeys.read(signatures.keys().stream().map(Path::of).collect(ImmutableList.toImmutableList())));
    }
}
