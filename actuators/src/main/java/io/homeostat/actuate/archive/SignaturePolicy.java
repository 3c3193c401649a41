package io.homeostat.actuate.archive;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.AgentConfig;
import java.nio.file.Path;

/**
 * Whose signatures are accepted, and whether one is required.
 *
 * @param required whether an archive without a signature of theirs may not
 */
public record SignaturePolicy(boolean required, TrustedKeys keys) {
    /** Accepts all archives. */
    public static final SignaturePolicy ANYBODY = new SignaturePolicy(false, TrustedKeys.NONE);

    /**
     * The configured policy.
     *
     * @throws ActuationFailure when a key can't be read
     */
    public static SignaturePolicy of(AgentConfig.Signatures signatures) throws ActuationFailure {
        return new SignaturePolicy(
                signatures.require(),
                TrustedKeys.read(signatures.keys().stream().map(Path::of).collect(ImmutableList.toImmutableList())));
    }
}
