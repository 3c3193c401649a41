package io.homeostat.actuate.archive;

import com.google.common.collect.ImmutableList;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.Disk;
import io.homeostat.actuate.LocalDisk;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.BriefText;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.signature.KeyFailure;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.desired.state.history.FailureCause;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides whether an archive of the cache may be unpacked: a declared signature has to be good as soon as there are keys, and a signature
 * has to be declared if the policy requires it.
 */
public final class SignatureCheck {
    private static final Logger LOG = LoggerFactory.getLogger(SignatureCheck.class);

    private static final String FOREIGN =
            "source.signature is not a signature of its SHA-256 by any of signatures.keys;"
                    + " sign it anew, or configure the key that it was signed with";

    private final ArchiveStore archives;
    private final Supplier<SignaturePolicy> policy;

    /** @param policy asked for each archive, since the configuration can change */
    public SignatureCheck(Layout layout, Supplier<SignaturePolicy> policy) {
        this.archives = new ArchiveStore(layout, new LocalDisk());
        this.policy = policy;
    }

    /**
     * Checks an archive.
     *
     * @param key of an archive in the cache
     * @param signature the declared one, in base64; null when there is none
     * @throws ActuationFailure when it may not be unpacked; not fatal, because keys can be reconfigured, and an archive without a
     *     declared checksum is fetched again and may be another one by then
     */
    public void check(WorkloadId id, String revision, String key, @Nullable String signature) throws ActuationFailure {
        SignaturePolicy now = policy.get();
        String what = "the archive of revision " + BriefText.of(revision) + " of " + id.brief() + " was not unpacked: ";
        if (signature == null) {
            if (now.required()) {
                throw new ActuationFailure(
                        FailureCause.Kind.UNSIGNED,
                        what + "it is not signed, and signatures are required here; declare source.signature",
                        false);
            }
            return;
        }
        if (now.keys().isEmpty()) {
            LOG.info(
                    "[{}] the signature of revision {} was not checked: no signatures.keys are configured",
                    id,
                    revision);
            return;
        }
        try {
            if (archives.has(key) && !now.keys().signed(archives.sha256(key), signature)) {
                if (!ArchiveStore.isVerified(key)) {
                    archives.delete(key);
                }
                throw new ActuationFailure(FailureCause.Kind.SIGNATURE, what + FOREIGN, false);
            }
        } catch (IOException e) {
            throw new ActuationFailure(what + Disk.reason(e), false, e);
        }
    }

    /** Whether an archive with this checksum, which may not be there yet, may be unpacked as things are. */
    public boolean accepts(String sha256, @Nullable String signature) {
        return policy.get().accepts(sha256, signature);
    }

    /** Whose signatures are accepted, and whether one is required. */
    public record SignaturePolicy(boolean required, TrustedKeys keys) {
        public static final SignaturePolicy ANYBODY = new SignaturePolicy(false, TrustedKeys.NONE);

        boolean accepts(String sha256, @Nullable String signature) {
            return signature == null ? !required : keys.isEmpty() || keys.signed(sha256, signature);
        }

        /** Why no archive with the declared checksum may be unpacked; empty when one may, or that only shows once it is there. */
        public Optional<String> refusal(Source source) {
            String sha256 = source.sha256();
            String signature = source.signature();
            return sha256 != null && signature != null && !accepts(sha256.toLowerCase(Locale.ROOT), signature)
                    ? Optional.of(FOREIGN)
                    : Optional.empty();
        }

        /** The configured policy; fails when a key can't be read. */
        public static SignaturePolicy of(AgentConfig.Signatures signatures) throws ActuationFailure {
            try {
                return new SignaturePolicy(
                        signatures.require(),
                        TrustedKeys.read(
                                signatures.keys().stream().map(Path::of).collect(ImmutableList.toImmutableList()),
                                "signatures.keys"));
            } catch (KeyFailure e) {
                throw new ActuationFailure(
                        ActuationFailure.causeOf(e.getCause(), FailureCause.Kind.SIGNATURE),
                        String.valueOf(e.getMessage()),
                        true,
                        e);
            }
        }
    }
}
