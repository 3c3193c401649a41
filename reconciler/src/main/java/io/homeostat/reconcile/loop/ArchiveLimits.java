package io.homeostat.reconcile.loop;

import io.homeostat.actuate.DownloadLimits;
import io.homeostat.actuate.UnpackLimits;
import io.homeostat.desired.model.AgentConfig;

/** What archives may take. */
public record ArchiveLimits(DownloadLimits download, UnpackLimits unpack) {
    /** Where nothing is configured. */
    public static final ArchiveLimits DEFAULT = new ArchiveLimits(DownloadLimits.DEFAULT, UnpackLimits.DEFAULT);

    /** As configured; what has to stay free on the disk is not. */
    public static ArchiveLimits of(AgentConfig.Bounds bounds) {
        return new ArchiveLimits(
                new DownloadLimits(bounds.downloadBytes().bytes(), DownloadLimits.DEFAULT.reserveBytes()),
                new UnpackLimits(
                        bounds.unpackedBytes().bytes(), bounds.entries(), UnpackLimits.DEFAULT.reserveBytes()));
    }
}
