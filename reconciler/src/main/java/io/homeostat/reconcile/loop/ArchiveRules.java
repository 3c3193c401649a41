package io.homeostat.reconcile.loop;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.archive.SignatureCheck.SignaturePolicy;
import io.homeostat.actuate.fetch.Downloader.DownloadLimits;
import io.homeostat.actuate.unpack.UnpackLimits;
import io.homeostat.desired.model.AgentConfig;

/** What archives may take, and whose they may be. */
public record ArchiveRules(DownloadLimits download, UnpackLimits unpack, SignaturePolicy trust) {
    /** Where nothing is configured. */
    public static final ArchiveRules DEFAULT =
            new ArchiveRules(DownloadLimits.DEFAULT, UnpackLimits.DEFAULT, SignaturePolicy.ANYBODY);

    /**
     * As configured; what has to stay free on the disk is not.
     *
     * @throws ActuationFailure when the keys can't be read
     */
    public static ArchiveRules of(AgentConfig config) throws ActuationFailure {
        AgentConfig.Bounds bounds = config.limits();
        return new ArchiveRules(
                new DownloadLimits(bounds.downloadBytes().bytes(), DownloadLimits.DEFAULT.reserveBytes()),
                new UnpackLimits(bounds.unpackedBytes().bytes(), bounds.entries(), UnpackLimits.DEFAULT.reserveBytes()),
                SignaturePolicy.of(config.signatures()));
    }
}
