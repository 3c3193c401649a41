package io.homeostat.e2e;

import io.homeostat.e2e.Bucket.Stored;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.PluginType;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.ResourceLock;

/** What a control plane is told of each case, in the order in which it expects it. The agent is one for all of them. */
@ResourceLock("the agent of ControlPlaneEventsTest")
final class ControlPlaneEventsTest {
    @RegisterExtension
    static final Commanded COMMANDED = Commanded.here();

    /** One thing that happens to a plugin, and what is told of it. */
    private record Happening(Cause cause, List<String> events) {}

    private interface Cause {
        void happen() throws Exception;
    }

    private record Case(String name, String plugin, List<Happening> happenings) {}

    @TestFactory
    Stream<DynamicTest> theSequencesAre() {
        Stored archive = COMMANDED.bucket().put("greeter.tar.gz", Bucket.greeter());
        Stored broken = COMMANDED.bucket().put("broken.tar.gz", "no archive".getBytes(StandardCharsets.UTF_8));
        return cases(archive, broken).map(one -> DynamicTest.dynamicTest(one.name(), () -> play(one)));
    }

    private static Stream<Case> cases(Stored archive, Stored broken) {
        return Stream.of(
                new Case(
                        "a whole life: installation, failed and successful upgrade, configuration, crash, removal",
                        "life",
                        List.of(
                                sent(greeter("life", "1", archive), "CONFIG_INSTALL 1", "STARTED 1", "INSTALLED 1"),
                                sent(greeter("life", "2", broken), "CONFIG_INSTALL 2", "INSTALL_FAILED 2"),
                                sent(
                                        greeter("life", "3", archive),
                                        "CONFIG_INSTALL 3",
                                        "CONFIG_REMOVE 1",
                                        "STOPPED 1",
                                        "REMOVED 1",
                                        "STARTED 3",
                                        "INSTALLED 3"),
                                sent(Items.apply("life", "3", "hi"), "CONFIG_APPLY 3", "CONFIG_APPLIED 3"),
                                new Happening(() -> crash("life", "3"), List.of("CRASHED 3", "STARTED 3")),
                                sent(Items.remove("life", "3"), "CONFIG_REMOVE 3", "STOPPED 3", "REMOVED 3"))),
                new Case(
                        "an archive that can't be unpacked",
                        "unpack",
                        List.of(sent(greeter("unpack", "1", broken), "CONFIG_INSTALL 1", "INSTALL_FAILED 1"))),
                new Case(
                        "a program that does not start",
                        "launch",
                        List.of(sent(
                                greeter("launch", "1", archive, "--fault=exit-at-once"),
                                "CONFIG_INSTALL 1",
                                "START_FAILED 1",
                                "INSTALL_FAILED 1"))),
                new Case(
                        "a plugin that refuses Start",
                        "start",
                        List.of(sent(
                                greeter("start", "1", archive, "--fault=start-error"),
                                "CONFIG_INSTALL 1",
                                "START_FAILED 1",
                                "INSTALL_FAILED 1"))),
                new Case(
                        "a configuration that is refused",
                        "refused",
                        List.of(
                                sent(
                                        greeter("refused", "1", archive, "--fault=apply-error"),
                                        "CONFIG_INSTALL 1",
                                        "STARTED 1",
                                        "INSTALLED 1"),
                                sent(Items.apply("refused", "1", "hi"), "CONFIG_APPLY 1", "CONFIG_APPLY_FAILED 1"))),
                new Case(
                        "a configuration for which the plugin has to be started anew",
                        "restarted",
                        List.of(
                                sent(
                                        greeter("restarted", "1", archive, "--fault=apply-unimplemented"),
                                        "CONFIG_INSTALL 1",
                                        "STARTED 1",
                                        "INSTALLED 1"),
                                sent(
                                        Items.apply("restarted", "1", "hi"),
                                        "CONFIG_APPLY 1",
                                        "STOPPED 1",
                                        "STARTED 1",
                                        "CONFIG_APPLIED 1"))),
                new Case(
                        "a one-shot that is done",
                        "oneshot",
                        List.of(sent(
                                Items.with(
                                        greeter("oneshot", "1", archive),
                                        manifest -> manifest.setPluginType(PluginType.ONE_SHOT)),
                                "CONFIG_INSTALL 1",
                                "STARTED 1",
                                "INSTALLED 1",
                                "EXECUTION_COMPLETED 1"))),
                new Case(
                        "names that nobody knows",
                        "unknown",
                        List.of(
                                sent(Items.remove("unknown", "1"), "REMOVE_FAILED 1"),
                                sent(Items.apply("unknown", "1", "hi"), "CONFIG_APPLY_FAILED 1"))));
    }

    private static void play(Case one) throws Exception {
        for (Happening happening : one.happenings()) {
            happening.cause().happen();
            COMMANDED.awaitEvents(one.plugin(), happening.events().toArray(String[]::new));
        }
    }

    private static Happening sent(ConfigurePlugin item, String... events) {
        return new Happening(() -> COMMANDED.configure(item), List.of(events));
    }

    private static ConfigurePlugin greeter(String name, String revision, Stored archive, String... arguments) {
        return Items.once(Items.greeter(name, revision, COMMANDED.bucket(), archive, arguments));
    }

    /** Killed before it has proved itself it would be a failed start. */
    private static void crash(String plugin, String revision) throws InterruptedException {
        COMMANDED.awaitRunning(plugin, revision);
        COMMANDED.homeostat().kill("plugin/" + plugin);
    }
}
