package io.homeostat.actuate.stop;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedSet;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.actuate.TestBed;
import io.homeostat.actuate.launch.Launcher.LaunchRequest;
import io.homeostat.actuate.launch.ProcessProtocol;
import io.homeostat.actuate.limits.GroupRemover;
import io.homeostat.actuate.limits.LimitEnforcer;
import io.homeostat.actuate.limits.LimitEnforcer.CgroupPlan;
import io.homeostat.actuate.limits.LimitEnforcer.LimitResult;
import io.homeostat.actuate.stop.Stopper.StopRequest;
import io.homeostat.actuate.stop.Stopper.StopResult;
import io.homeostat.actuate.stop.Stopper.StopResult.How;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.history.Exit;
import io.homeostat.observe.Observation;
import io.homeostat.observe.ObservedInstance.Liveness;
import io.homeostat.observe.limits.CgroupHierarchy;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.Account;
import io.homeostat.observe.process.LaunchDirectory.LaunchMarks;
import io.homeostat.observe.process.ProcFs;
import io.homeostat.observe.process.ProcFs.Stat;
import io.homeostat.observe.process.ProcessTree.Extent;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class StopperTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final Duration SHORT = Duration.ofMillis(300);

    @TempDir
    Path root;

    private TestBed bed;

    @BeforeEach
    void setUp() {
        bed = new TestBed(root);
    }

    @AfterEach
    void tearDown() throws Exception {
        bed.close();
    }

    @Test
    void aProcessThatObeysIsEndedBySigterm() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");

        StopResult result = bed.stop(instance, LONG);

        assertEquals(How.TERMINATED, result.how());
        Exit exit = result.exit().orElseThrow();
        assertEquals(new Exit(143, 15, Exit.Reason.SIGNALED, exit.at()), exit);
        assertEquals(0, bed.members(instance));
    }

    @Test
    void aProcessThatCleansUpAtSigtermTellsItsOwnStatus() throws Exception {
        Path ready = root.resolve("ready");
        Instance instance = bed.launch(
                TestBed.PROCESS,
                bed.program("p", "trap 'exit 4' TERM", "echo > " + ready, "while :; do sleep 0.02; done"));
        bed.awaitFile(ready);

        StopResult result = bed.stop(instance, LONG);

        assertEquals(How.TERMINATED, result.how());
        assertEquals(4, result.exit().orElseThrow().code());
    }

    @Test
    void aProcessIsAskedByTheSignalThatIsDeclared() throws Exception {
        Path ready = root.resolve("ready");
        Instance instance = bed.launch(
                TestBed.PROCESS,
                bed.program(
                        "p", "trap '' TERM", "trap 'exit 5' INT", "echo > " + ready, "while :; do sleep 0.02; done"));
        bed.awaitFile(ready);

        StopResult result = bed.stop(instance, false, new Lifecycle.Stop(LONG, "SIGINT"));

        assertEquals(How.TERMINATED, result.how());
        assertEquals(5, result.exit().orElseThrow().code());
    }

    @Test
    void aTreeThatIgnoresSigtermIsKilledWhole() throws Exception {
        Path ready = root.resolve("ready");
        // One in its session, one in another, and one there whose parent has ended.
        Instance instance = bed.launch(
                TestBed.PROCESS,
                bed.program(
                        "p",
                        "trap '' TERM",
                        "sleep 1000 &",
                        "setsid sleep 1000 &",
                        "(setsid sleep 1000 &)",
                        "echo > " + ready,
                        "while :; do sleep 0.02; done"));
        bed.awaitFile(ready);
        TestBed.soon().until(() -> bed.members(instance) >= 4);

        StopResult result = bed.stop(instance, SHORT);

        assertEquals(How.KILLED, result.how());
        assertEquals(9, result.exit().orElseThrow().signal());
        assertEquals(0, bed.members(instance));
    }

    @Test
    void whatAProcessLeavesBehindWhenItObeysIsEndedToo() throws Exception {
        Path ready = root.resolve("ready");
        Instance instance = bed.launch(
                TestBed.PROCESS,
                bed.program("p", "trap '' TERM", "setsid sleep 1000 &", "trap - TERM", "echo > " + ready, "wait"));
        bed.awaitFile(ready);

        StopResult result = bed.stop(instance, SHORT);

        assertEquals(How.KILLED, result.how());
        assertEquals(15, result.exit().orElseThrow().signal());
        assertEquals(0, bed.members(instance));
    }

    @Test
    void aTreeThatGoesOnForkingIsEndedAllTheSame() throws Exception {
        Path ready = root.resolve("ready");
        Instance instance = bed.launch(
                TestBed.PROCESS,
                bed.program(
                        "p", "trap '' TERM", "echo > " + ready, "while :; do setsid sleep 1000 & sleep 0.01; done"));
        bed.awaitFile(ready);

        assertEquals(How.KILLED, bed.stop(instance, SHORT).how());
        assertEquals(0, bed.members(instance));
    }

    @Test
    void aProcessThatWasSuspendedLearnsThatItIsToEnd() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        bed.awaitProgram(instance, "sleep");
        TestBed.signal("STOP", TestBed.pid(instance));

        assertEquals(How.TERMINATED, bed.stop(instance, LONG).how());
    }

    @Test
    void stoppingWhatHasEndedTellsHowItEnded() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, bed.program("p", "exit 6"));
        bed.ended(instance);

        for (int i = 0; i < 2; i++) {
            StopResult result = bed.stop(instance, LONG);
            assertEquals(How.ALREADY_GONE, result.how());
            assertEquals(6, result.exit().orElseThrow().code());
        }
    }

    @Test
    void stoppingWhatSurvivedTheProgramEndsIt() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, bed.program("p", "setsid sleep 1000 &", "exit 0"));
        TestBed.soon().until(() -> bed.look(instance), Liveness.Orphaned.class::isInstance);

        assertEquals(How.TERMINATED, bed.stop(instance, LONG).how());
        bed.ended(instance);
    }

    @Test
    void aProcessWhoseIdentityWasNotStoredIsStopped() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");

        StopResult result =
                bed.stop(TestBed.instance(TestBed.PROCESS, instance.launchId(), instance.launchedAt()), LONG);

        assertEquals(How.TERMINATED, result.how());
        assertEquals(0, bed.members(instance));
    }

    @Test
    void aLaunchThatWasStoppedBeforeItHappenedNeverHappens() throws Exception {
        Instance instance = bed.instance(TestBed.PROCESS);
        bed.directories.write(instance);

        assertEquals(How.ALREADY_GONE, bed.stop(instance, LONG).how());

        Path program = bed.program("p", "echo ran");
        assertThrows(
                ActuationFailure.class,
                () -> bed.launch(new LaunchRequest(instance, program, ImmutableList.of(), ImmutableMap.of(), null)));
        assertEquals("", bed.log(TestBed.PROCESS));
    }

    @Test
    void stoppingALaunchOfWhichThereIsNoTraceDoesNothing() throws Exception {
        StopResult result = bed.stop(bed.instance(TestBed.PROCESS), LONG);

        assertEquals(How.ALREADY_GONE, result.how());
        assertTrue(result.exit().isEmpty());
        assertFalse(Files.exists(bed.layout.launches(TestBed.PROCESS)));
    }

    @Test
    void aProcessThatGotTheNumberOfOursIsNeverSignalled() throws Exception {
        // With the record of an end and without one; the victim leads a session whose number is that of ours.
        Instance over = bed.launch(TestBed.PROCESS, bed.program("p", "exit 0"));
        bed.ended(over);
        Instance unrecorded = bed.instance(TestBed.PROCESS);
        Process victim = new ProcessBuilder("setsid", "sleep", "1000").start();
        try {
            TestBed.soon()
                    .until(() -> bed.procFs.stat(victim.pid()).orElseThrow().session() == victim.pid());
            Stat stat = bed.procFs.stat(victim.pid()).orElseThrow();
            for (ProcessIdentity claimed : List.of(
                    new ProcessIdentity(victim.pid(), stat.startTicks() - 1, bed.procFs.bootId()),
                    new ProcessIdentity(victim.pid(), stat.startTicks() + 1, bed.procFs.bootId()),
                    new ProcessIdentity(victim.pid(), 0, bed.procFs.bootId()),
                    new ProcessIdentity(victim.pid(), stat.startTicks(), "00000000-0000-0000-0000-000000000000"))) {
                assertEquals(
                        How.ALREADY_GONE,
                        bed.stop(over.withIdentity(claimed), LONG).how());
                assertEquals(
                        How.ALREADY_GONE,
                        bed.stop(unrecorded.withIdentity(claimed), LONG).how());
                assertFalse(new Signals(bed.procFs).send(victim.pid(), stat.startTicks() + 1, Signals.KILL));
                assertFalse(victim.waitFor(1, TimeUnit.MILLISECONDS), "the victim of " + claimed);
            }
        } finally {
            victim.destroyForcibly().waitFor();
        }
        assertFalse(new Signals(bed.procFs).send(victim.pid(), 0, Signals.KILL));
    }

    @Test
    void aStopThatWasInterruptedCanBeRepeated() throws Exception {
        Path ready = root.resolve("ready");
        Instance instance = bed.launch(
                TestBed.PROCESS, bed.program("p", "trap '' TERM", "echo > " + ready, "while :; do sleep 0.02; done"));
        bed.awaitFile(ready);
        FutureTask<StopResult> stop = new FutureTask<>(() -> bed.stop(instance, LONG));
        CompletableFuture<Boolean> interrupted = new CompletableFuture<>();
        Thread thread = Thread.ofPlatform().start(() -> {
            stop.run();
            interrupted.complete(
                    stop.state() == FutureTask.State.FAILED && stop.exceptionNow() instanceof InterruptedException);
        });
        TestBed.soon().until(() -> thread.getState() == Thread.State.TIMED_WAITING);

        thread.interrupt();

        assertTrue(interrupted.get(30, TimeUnit.SECONDS));
        assertInstanceOf(Liveness.Running.class, bed.look(instance));
        assertEquals(How.KILLED, bed.stop(instance, SHORT).how());
        assertEquals(How.ALREADY_GONE, bed.stop(instance, SHORT).how());
    }

    @Test
    void twoStopsOfOneLaunchDisturbEachOtherInNothing() throws Exception {
        Instance instance = bed.launch(TestBed.PROCESS, Path.of("/bin/sleep"), "1000");
        FutureTask<StopResult> other = new FutureTask<>(() -> bed.stop(instance, LONG));
        Thread.ofPlatform().start(other);

        StopResult result = bed.stop(instance, LONG);

        assertEquals(143, result.exit().orElseThrow().code());
        assertEquals(143, other.get(30, TimeUnit.SECONDS).exit().orElseThrow().code());
    }

    @Test
    void whatIsJustBeingExecutedIsSeenAllTheSame() throws Exception {
        Instance over = bed.launch(TestBed.PROCESS, bed.program("p", "exit 0"));
        bed.ended(over);
        Path environment = unkillable("").resolve("environ");
        Files.delete(environment);
        assertEquals(
                0, new ProcessBuilder("mkfifo", environment.toString()).start().waitFor());
        // Empty for the first who reads it, as long as the program is being executed, and whole from then on.
        Thread.ofVirtual().start(() -> {
            try (OutputStream _ = Files.newOutputStream(environment)) {
                Path whole =
                        Files.writeString(root.resolve("environ"), LaunchMarks.LAUNCH + "=" + over.launchId() + "\0");
                Files.move(whole, environment, StandardCopyOption.ATOMIC_MOVE);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });

        assertUnkillable(over);
    }

    @Test
    void aLaunchIsNotStoppedWhileAProcessOfItsUserThatMayBelongToItKeepsItsMemory() throws Exception {
        Instance over = bed.launch(TestBed.PROCESS, bed.program("p", "exit 0"));
        bed.ended(over);
        Path environment = unkillable("").resolve("environ");
        Files.delete(environment);
        assertEquals(
                0, new ProcessBuilder("mkfifo", environment.toString()).start().waitFor());

        String message = TestBed.message(failure(over));

        assertTrue(message.startsWith("could not stop process/"), message);
        assertTrue(message.contains("; kill -9 4194400, "), message);
    }

    @Test
    void aLaunchThatNeitherTellsWhoItIsNorCanBeKilledIsGivenUp() throws Exception {
        Instance instance = bed.instance(TestBed.PROCESS);
        bed.directories.write(instance);
        Files.createFile(bed.directory(instance).claimFile());
        unkillable(LaunchMarks.KEEPER + "=" + instance.launchId() + "\0");

        assertUnkillable(instance);
    }

    /** Each of a chain of processes forks the next one and ends, in less time than a look at all processes takes. */
    @Test
    void processesThatForkOnAreOutrunByTheirControlGroups() throws Exception {
        CgroupLayout layout = CgroupLayout.detect(
                Path.of("/sys/fs/cgroup"),
                Path.of("/proc"),
                "homeostat-stop-" + ProcessHandle.current().pid());
        CgroupPlan plan =
                new LimitEnforcer(layout).prepare(TestBed.PROCESS, new Limits(new Size(64 << 20), null, true));
        assumeTrue(
                plan.enforcement() instanceof LimitResult.Enforced,
                () -> plan.enforcement().toString());
        LimitObserver groups = new LimitObserver(layout);
        try {
            Path ready = root.resolve("ready");
            Instance instance = bed.launch(
                    new LaunchRequest(
                            bed.instance(TestBed.PROCESS),
                            Path.of("/usr/bin/env"),
                            // Without the mark, and for a minute at most.
                            ImmutableList.of(
                                    "-i",
                                    "perl",
                                    "-e",
                                    "use POSIX; $SIG{CHLD} = 'IGNORE'; if (!fork) { setsid(); my $end = time + 60; if (!fork) {"
                                            + " open(my $f, '>', $ARGV[0]); print $f 1; close $f;"
                                            + " while (time < $end) { select(undef, undef, undef, 0.001); exit if fork } }"
                                            + " exit } sleep 1000",
                                    ready.toString()),
                            ImmutableMap.of(),
                            null),
                    plan);
            bed.awaitFile(ready);

            new Stopper(bed.layout, new ProcFs(), ProcessProtocol.NONE, groups, Extent.TREE)
                    .stop(new StopRequest(instance, false, new Lifecycle.Stop(SHORT)));

            assertEquals(Observation.seen(ImmutableSortedSet.of()), groups.pids(TestBed.PROCESS));
        } finally {
            await().atMost(LONG).ignoreException(ActuationFailure.class).until(() -> {
                new GroupRemover(layout).remove(TestBed.PROCESS);
                return true;
            });
            for (CgroupHierarchy hierarchy : layout.hierarchies()) {
                Files.deleteIfExists(hierarchy.home());
            }
        }
    }

    private Instance ofAnotherUser() throws Exception {
        Instance instance = bed.launch(
                TestBed.PROCESS, Path.of("/usr/bin/setpriv"), "--reuid=1001", "--clear-groups", "sleep", "1000");
        bed.awaitProgram(instance, "sleep");
        return instance;
    }

    private static void assumePerlTraces() throws IOException {
        assumeTrue(Account.ourUid() == 0, "only root stops what others run");
        assumeTrue("amd64".equals(System.getProperty("os.arch")), "the number of ptrace is another one");
    }

    /** Whatever ends the traced process, it stops on its way out (PTRACE_O_TRACEEXIT), and is never told to go on. */
    @Test
    void whoeverTracesItCanNotKeepItFromEnding() throws Exception {
        assumePerlTraces();
        Instance instance = ofAnotherUser();
        try (Tracer tracer = new Tracer(1001, TestBed.pid(instance), "sleep 1000")) {
            assumeTrue(tracer.traces(), "this machine lets nobody trace");
            try (Tracer ofThat = new Tracer(1001, tracer.pid(), "sleep 1000")) {
                assumeTrue(ofThat.traces(), "this machine lets nobody trace a tracer");

                bed.stop(instance, Duration.ZERO);

                assertFalse(new ProcFs().runs(TestBed.identity(instance)));
            }
        }
    }

    @Test
    void whoeverTracesItMayHaveBecomeAnotherUserSince() throws Exception {
        assumePerlTraces();
        Path setuid = Files.copy(Path.of("/usr/bin/sleep"), root.resolve("sudo"));
        Files.setAttribute(setuid, "unix:mode", 04755);
        for (String becoming : List.of("use POSIX; POSIX::setuid(1002); sleep 1000", "exec '" + setuid + "', 1000")) {
            Instance instance = ofAnotherUser();
            try (Tracer tracer = new Tracer(0, TestBed.pid(instance), becoming)) {
                assumeTrue(tracer.traces(), "this machine lets nobody trace");

                bed.stop(instance, Duration.ZERO);

                assertFalse(new ProcFs().runs(TestBed.identity(instance)));
            }
        }
    }

    /** The kernel tells who traces by the number of a thread. */
    @Test
    void whoeverTracesItFromAnotherThreadCanNotKeepItFromEnding() throws Exception {
        assumeTrue(Account.ourUid() == 0, "only root stops what others run");
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/python3")), "python3 has threads that call ptrace(2)");
        Instance instance = ofAnotherUser();
        String script = """
                import ctypes, sys, threading, time
                def trace():
                    done = ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0x40) == 0
                    print('t' if done else 'n', end='', flush=True)
                    time.sleep(1000)
                threading.Thread(target=trace).start()
                """;
        try (Tracer tracer = new Tracer(1001, TestBed.pid(instance), List.of("/usr/bin/python3", "-c", script))) {
            assumeTrue(tracer.traces(), "this machine lets nobody trace");

            bed.stop(instance, Duration.ZERO);

            assertFalse(new ProcFs().runs(TestBed.identity(instance)));
        }
    }

    /** Who calls su or sudo has it trace what that starts when that asks for it. */
    @Test
    void aParentThatWasMadeATracerIsLeftAlone() throws Exception {
        assumePerlTraces();
        Path setuid = Files.copy(Path.of("/usr/bin/perl"), root.resolve("sudo"));
        Files.setAttribute(setuid, "unix:mode", 04755);
        Instance instance = ofAnotherUser();
        String child = Tracer.TRACE + "syscall(101, 0, 0, 0, 0) == 0 or die $!; kill 'USR1', $$; sleep 1000";
        Process parent = new ProcessBuilder(
                        setuid.toString(),
                        "-e",
                        "my $p = fork // die; $p or exec 'setpriv', '--reuid=1001', '--clear-groups', 'perl', '-e', @ARGV;"
                                + " $| = 1; waitpid $p, 0; print 't'; waitpid $p, 0; print 'e'; sleep 1000",
                        child,
                        Long.toString(TestBed.pid(instance)))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try {
            assumeTrue(parent.getInputStream().read() == 't', "this machine lets nobody trace");

            bed.stop(instance, Duration.ZERO);

            assertFalse(new ProcFs().runs(TestBed.identity(instance)));
            assertEquals('e', parent.getInputStream().read(), "the child has ended");
            assertTrue(parent.isAlive());
        } finally {
            parent.destroyForcibly();
        }
    }

    /** A process that has another one stop on its way out, and never tells it to go on, whatever it does then. */
    private record Tracer(Process process) implements AutoCloseable {
        static final String TRACE = "$| = 1; syscall(101, 0x4206, $ARGV[0] + 0, 0, 0x40) == 0 or die $!; ";

        Tracer(int user, long traced, String then) throws IOException {
            this(user, traced, List.of("perl", "-e", TRACE + "print 't'; " + then));
        }

        /** @param program prints t once it traces the process that is its last argument */
        Tracer(int user, long traced, List<String> program) throws IOException {
            this(new ProcessBuilder(ImmutableList.<String>builder()
                            .add("setpriv", "--reuid=" + user, "--clear-groups")
                            .addAll(program)
                            .add(Long.toString(traced))
                            .build())
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        }

        /** The number of perl itself: setpriv executes it. */
        long pid() {
            return process.pid();
        }

        /** Waits until it does, or can't. */
        boolean traces() throws IOException {
            return process.getInputStream().read() == 't';
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    /** Has a /proc of its own show a process above any pid_max: it is seen for ever, and no signal reaches it. */
    private Path unkillable(String environment) throws IOException {
        Path proc = root.resolve("proc");
        Path shell = Files.createDirectories(proc.resolve("4194400"));
        Files.writeString(proc.resolve("stat"), "btime 1700000000\n");
        for (String same : List.of("uptime", "sys/kernel/random/boot_id")) {
            Files.createDirectories(proc.resolve(same).getParent());
            Files.writeString(
                    proc.resolve(same), Files.readString(Path.of("/proc").resolve(same)));
        }
        Files.writeString(
                shell.resolve("stat"),
                "4194400 (sh) D 1 4194400 4194400 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 9000000000 2654208 169 18446744073709551615\n");
        Files.writeString(shell.resolve("environ"), environment);
        Files.writeString(shell.resolve("status"), "Uid:" + ("\t" + Account.ourUid()).repeat(4) + "\n");
        return shell;
    }

    private void assertUnkillable(Instance instance) {
        ActuationFailure failure = failure(instance);

        assertTrue(
                TestBed.message(failure).contains("SIGKILL did not end 4194400 (sh, state D)"),
                TestBed.message(failure));
        assertFalse(failure.fatal());
    }

    private ActuationFailure failure(Instance instance) {
        AtomicLong seconds = new AtomicLong();
        Stopper stopper = new Stopper(
                bed.layout,
                new ProcFs(root.resolve("proc")),
                ProcessProtocol.NONE,
                new LimitObserver(CgroupLayout.NONE),
                Extent.TREE,
                () -> TimeUnit.SECONDS.toNanos(seconds.incrementAndGet()));

        return assertTimeoutPreemptively(
                LONG,
                () -> assertThrows(
                        ActuationFailure.class,
                        () -> stopper.stop(new StopRequest(instance, false, new Lifecycle.Stop(Duration.ZERO)))));
    }
}
