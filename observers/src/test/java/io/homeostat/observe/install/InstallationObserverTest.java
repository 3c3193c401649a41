package io.homeostat.observe.install;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.Observation;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.Isolated;

/** What is installed, active, cached and left over, and when that can not be said. */
@Isolated("Holds itself to a time.")
@Execution(ExecutionMode.SAME_THREAD)
final class InstallationObserverTest extends InstalledMachine {
    @Test
    void aMachineWithoutAnyDirectoryHasNothing() {
        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID));
        assertEquals(Observation.seen(Optional.empty()), observer.active(ID));
        assertEquals(Observation.seen(ImmutableSet.of()), observer.archives());
        assertEquals(Observation.seen(false), observer.residue(ID));
        assertEquals(Observation.seen(ImmutableSet.of()), observer.traces());
    }

    @Test
    void everyDirectoryWithAMarkerIsAnInstallation() throws IOException {
        Installation first = install(ID, "1", "ops-agent_1");
        Installation second = install(ID, "2", "ops-agent_2~0123456789abcdef");

        assertEquals(Observation.seen(ImmutableList.of(first, second)), observer.installations(ID));
        assertEquals(Observation.seen(ImmutableSet.of(ID)), observer.traces());
    }

    @Test
    void kindsAreKeptApart() throws IOException {
        WorkloadId process = WorkloadId.process("ops-agent");
        Installation installed = install(process, "1", "ops-agent_1");

        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(ID));
        assertEquals(Observation.seen(ImmutableList.of(installed)), observer.installations(process));
    }

    @Test
    void theActiveDirectoryIsWhereTheSymlinkPointsWhetherItIsThereOrNot() throws IOException {
        Files.createDirectories(layout.installs(ID));
        Files.createSymbolicLink(layout.active(ID), Path.of("ops-agent_gone"));

        assertEquals(Observation.seen(Optional.of("ops-agent_gone")), observer.active(ID));
        assertEquals(Observation.seen(ImmutableSet.of(ID)), observer.traces());
    }

    @Test
    void whatIsNoSymlinkOfOursMakesNothingActive() throws IOException {
        WorkloadId directory = WorkloadId.plugin("directory");
        WorkloadId absolute = WorkloadId.plugin("absolute");
        WorkloadId others = WorkloadId.plugin("others");
        Files.createDirectories(layout.active(directory));
        Files.createSymbolicLink(layout.active(absolute), Path.of("/opt/absolute_1"));
        Files.createSymbolicLink(layout.active(others), Path.of("ops-agent_1"));

        for (WorkloadId id : ImmutableList.of(directory, absolute, others)) {
            assertEquals(Observation.seen(Optional.empty()), observer.active(id), id.toString());
        }
        assertEquals(Observation.seen(ImmutableSet.of()), observer.traces());
    }

    @Test
    void aNameWithAnUnderscoreHasItsSymlinkElsewhere() throws IOException {
        WorkloadId id = WorkloadId.plugin("a_b");
        Files.createDirectories(layout.installs(id));
        Files.createSymbolicLink(layout.active(id), Path.of("a_b_1~0123456789abcdef"));
        Files.createSymbolicLink(layout.installs(id).resolve("a_c"), Path.of("a_c_1"));

        assertEquals(Observation.seen(ImmutableSet.of(id)), observer.traces());
    }

    @Test
    void onlyCompleteArchivesHaveKeys() throws IOException {
        Files.createDirectories(layout.archive("d".repeat(64)));
        Files.writeString(layout.archive(KEY), "");
        Files.writeString(layout.archive(UNVERIFIED), "");
        Files.writeString(layout.archives().resolve(UNVERIFIED + ".sha256"), "");
        Files.writeString(layout.archives().resolve("notes.txt"), "");

        assertEquals(Observation.seen(ImmutableSet.of(KEY, UNVERIFIED)), observer.archives());
    }

    @Test
    void whatTakesThePlaceOfAnArchiveIsSeenWhenTheDirectoryIsKnownAlready() throws IOException {
        InstallationObserver later = new InstallationObserver(
                layout, InstantSource.fixed(Instant.now().plus(Duration.ofHours(1))));
        Files.createDirectories(layout.archives());
        Files.writeString(layout.archive(KEY), "");
        assertEquals(Observation.seen(ImmutableSet.of(KEY)), later.archives());
        assertEquals(Observation.seen(ImmutableSet.of(KEY)), later.archives());
        Object before = Files.getAttribute(layout.archives(), "unix:ctime");

        Files.delete(layout.archive(KEY));
        Files.createDirectories(layout.archive(KEY));
        await().until(() -> {
            Files.deleteIfExists(layout.archive(UNVERIFIED));
            Files.writeString(layout.archive(UNVERIFIED), "");
            return !Files.getAttribute(layout.archives(), "unix:ctime").equals(before);
        });

        assertEquals(Observation.seen(ImmutableSet.of(UNVERIFIED)), later.archives());
    }

    @Test
    void whateverElseIsLeftIsResidueAndATrace() throws IOException {
        for (Path left : ImmutableList.of(
                layout.staging(ID).resolve("ops-agent_1"), layout.workloadState(ID), layout.launch(ID, "1"))) {
            Files.createDirectories(left);
            assertEquals(Observation.seen(true), observer.residue(ID), left.toString());
            assertEquals(Observation.seen(ImmutableSet.of(ID)), observer.traces(), left.toString());
            Files.delete(left);
            Files.deleteIfExists(layout.staging(ID));
            Files.deleteIfExists(layout.launches(ID));
        }
        assertEquals(Observation.seen(false), observer.residue(ID));
    }

    @Test
    void whatCanNotBeLookedAtIsUnseenAndNotAbsent() throws IOException {
        Files.createDirectories(layout.machineDirectory());
        Files.writeString(layout.installs(ID), "a file where the directory of all plugins should be");
        Files.createDirectories(layout.archives().getParent());
        Files.writeString(layout.archives(), "");

        assertUnseen(observer.installations(ID), layout.installs(ID).toString());
        assertUnseen(observer.active(ID), layout.active(ID).toString());
        assertUnseen(observer.traces(), layout.installs(ID).toString());
        assertUnseen(observer.archives(), layout.archives().toString());
        assertEquals(Observation.seen(ImmutableList.of()), observer.installations(WorkloadId.process("other")));
    }

    @Test
    void aDirectoryThatMayNotBeReadIsUnseen() throws IOException {
        install(ID, "1", "ops-agent_1");
        Files.setPosixFilePermissions(layout.installs(ID), PosixFilePermissions.fromString("---------"));
        try {
            assumeFalse(Files.isReadable(layout.installs(ID)), "root may read everything");
            assertUnseen(observer.installations(ID), "permission denied");
            assertUnseen(observer.traces(), "permission denied");
        } finally {
            Files.setPosixFilePermissions(layout.installs(ID), PosixFilePermissions.fromString("rwxr-xr-x"));
        }
    }

    @Test
    void changesWithinOneTickOfTheKernelsClockAreSeen() throws IOException {
        for (int i = 0; i < 50; i++) {
            install(ID, "r" + i, "ops-agent_r" + i);
            assertEquals(i + 1, seen(observer.installations(ID)).size());
        }
    }

    @Test
    void aListingThatWasKeptIsReadAgainAfterAChange() throws IOException {
        InstallationObserver keeping = new InstallationObserver(
                layout, InstantSource.fixed(Instant.now().plus(Duration.ofHours(1))));
        install(ID, "1", "ops-agent_1");
        assertEquals(1, seen(keeping.installations(ID)).size());
        Object before = Files.getAttribute(layout.installs(ID), "unix:ctime");

        Path foreign = layout.install(ID, "foreign");
        await().until(() -> {
            Files.createDirectory(foreign);
            Files.delete(foreign);
            return !Files.getAttribute(layout.installs(ID), "unix:ctime").equals(before);
        });
        install(ID, "2", "ops-agent_2");

        assertEquals(2, seen(keeping.installations(ID)).size());
    }

    @Test
    void aDirectoryThatWasMovedAndIsReachedByASymlinkIsReadAgainAfterAChange() throws IOException {
        InstallationObserver keeping = new InstallationObserver(
                layout, InstantSource.fixed(Instant.now().plus(Duration.ofHours(1))));
        Path elsewhere = Files.createDirectories(layout.stateDir().resolve("larger-disk"));
        Files.createDirectories(layout.installs(ID).getParent());
        Files.createSymbolicLink(layout.installs(ID), elsewhere);
        install(ID, "1", "ops-agent_1");
        assertEquals(1, seen(keeping.installations(ID)).size());
        Object before = Files.getAttribute(elsewhere, "unix:ctime");

        Path foreign = elsewhere.resolve("foreign");
        await().until(() -> {
            Files.createDirectory(foreign);
            Files.delete(foreign);
            return !Files.getAttribute(elsewhere, "unix:ctime").equals(before);
        });
        install(ID, "2", "ops-agent_2");

        assertEquals(2, seen(keeping.installations(ID)).size());
    }

    @Tag("nightly")
    @Test
    void aThousandWorkloadsAreLookedAtQuickly() throws IOException {
        ImmutableList.Builder<WorkloadId> all = ImmutableList.builder();
        for (int i = 0; i < 1000; i++) {
            WorkloadId id = new WorkloadId(i % 2 == 0 ? Kind.PLUGIN : Kind.PROCESS, "workload-" + i);
            install(id, "1", id.name() + "_1");
            install(id, "2", id.name() + "_2");
            Files.createSymbolicLink(layout.active(id), Path.of(id.name() + "_2"));
            Files.createDirectories(layout.workloadState(id));
            all.add(id);
        }
        ImmutableList<WorkloadId> ids = all.build();
        InstallationObserver settled = new InstallationObserver(
                layout, InstantSource.fixed(Instant.now().plus(Duration.ofHours(1))));

        // Processor time: what else the machine does is not the observer's doing.
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long start = threads.getCurrentThreadCpuTime();
        assertEquals(ImmutableSet.copyOf(ids), seen(settled.traces()));
        long traced = threads.getCurrentThreadCpuTime();
        for (WorkloadId id : ids) {
            assertEquals(2, seen(settled.installations(id)).size());
            assertTrue(seen(settled.active(id)).isPresent());
            assertTrue(seen(settled.residue(id)));
        }
        long looked = threads.getCurrentThreadCpuTime();

        // Ten times what it takes, which is still far less than looking at a thousand names a thousand times.
        String took = "traces " + (traced - start) / 1_000_000 + " ms, looks " + (looked - traced) / 1_000_000 + " ms";
        assertTrue(looked - start < Duration.ofSeconds(3).toNanos(), took);
    }
}
