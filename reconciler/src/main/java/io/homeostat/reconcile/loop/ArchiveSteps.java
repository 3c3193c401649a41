package io.homeostat.reconcile.loop;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.archive.SignatureCheck;
import io.homeostat.actuate.fetch.Downloader;
import io.homeostat.actuate.fetch.Downloader.Progress;
import io.homeostat.actuate.unpack.Unpacker;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.Layout;
import io.homeostat.reconcile.plan.Step;
import io.homeostat.reconcile.record.Outcome;
import java.util.function.Function;
import java.util.function.Supplier;

/** The steps that bring a program's files here; these alone may be broken off. */
final class ArchiveSteps implements AutoCloseable {
    private final Downloader downloader;
    private final SignatureCheck signatures;
    private final Unpacker unpacker;
    private final Function<WorkloadId, Progress> progress;

    /**
     * @param rules asked at each archive, since they can be configured anew
     * @param progress who hears how far a workload's download is
     */
    ArchiveSteps(Layout layout, Supplier<ArchiveRules> rules, Function<WorkloadId, Progress> progress) {
        this.downloader = new Downloader(layout, () -> rules.get().download());
        this.signatures = new SignatureCheck(layout, () -> rules.get().trust());
        this.unpacker = new Unpacker(layout, () -> rules.get().unpack());
        this.progress = progress;
    }

    Outcome download(Step.Download step) throws ActuationFailure, InterruptedException {
        downloader.download(step.key(), step.source(), progress.apply(step.workload()));
        return Outcome.done();
    }

    Outcome unpack(Step.Unpack step) throws ActuationFailure, InterruptedException {
        signatures.check(step.workload(), step.revision(), step.key(), step.signature());
        unpacker.unpack(step.workload(), step.key(), step.revision(), step.directory(), step.entryPoint());
        return Outcome.done();
    }

    @Override
    public void close() {
        downloader.close();
    }
}
