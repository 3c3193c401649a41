package io.homeostat.reconcile.agent;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.io.MoreFiles;
import com.google.common.io.RecursiveDeleteOption;
import com.google.protobuf.Duration;
import com.google.rpc.Status;
import io.homeostat.controlplane.Bodies;
import io.homeostat.controlplane.FakeControlPlane;
import io.homeostat.desired.channel.ControlPlaneChannel;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.platform.MetadataClient;
import io.homeostat.desired.state.EventType;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.desired.state.Instance;
import io.homeostat.desired.state.Instance.Phase;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.reconcile.controlplane.ControlPlane;
import io.homeostat.reconcile.controlplane.SampledStates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Clock;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A plugin that a package installed, and that a control plane may install in another revision: which of them runs. */
@Timeout(180)
class LocalPluginsTest {
    private static final WorkloadId ID = WorkloadId.plugin("p");

    private final AgentBench bench = new AgentBench();
    private Path directory;
    private Path packages;
    private Path program;
    private ServedPlugin plugin;
    private FakeControlPlane fake;
    private Agent agent;
    private ControlPlane controlPlane;

    @BeforeEach
    void start() throws Exception {
        directory = Files.createTempDirectory("hl");
        packages = Files.createDirectory(directory.resolve("packages"));
        plugin = new ServedPlugin(directory.resolve("p"));
        program = directory.resolve("program");
        makeProgram(plugin.program());
        Path archive = Files.createDirectories(directory.resolve("archive/bin"));
        Files.copy(program, archive.resolve("p"), StandardCopyOption.COPY_ATTRIBUTES);
        assertEquals(
                0,
                new ProcessBuilder("tar", "czf", directory + "/p.tar.gz", "-C", directory + "/archive", "bin")
                        .inheritIO()
                        .start()
                        .waitFor());
        fake = FakeControlPlane.onUnixSocket(directory.resolve("s"));
        agent = bench.start("1h", true);
        Clock clock = Clock.systemUTC();
        controlPlane = new ControlPlane(
                agent,
                (endpoint, inbox) ->
                        ControlPlaneChannel.open(endpoint, new MetadataClient("127.0.0.1:1"), "", inbox, clock),
                new SampledStates(agent.usage()),
                bench.store(),
                agent.modules(),
                "1.2.3",
                clock,
                ControlPlane.REPORT_INTERVAL);
        use("[]");
    }

    @AfterEach
    void close() throws Exception {
        controlPlane.close();
        bench.close();
        fake.close();
        plugin.close();
        MoreFiles.deleteRecursively(directory, RecursiveDeleteOption.ALLOW_INSECURE);
    }

    @Test
    void aControlPlanesRevisionTakesThePlaceOfALocalOneAndGivesItBackWhenItIsRemoved() throws Exception {
        manifest("");
        ProcessIdentity local = running("local");

        send(install());
        running("R1");
        assertTrue(ProcessHandle.of(local.pid()).isEmpty());
        send(remove());

        running("local");
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().instances(ID).size() == 1);
    }

    @Test
    void aLocalPluginMayBeDeclaredInYaml() throws Exception {
        Files.createDirectory(packages.resolve("p"));
        Files.writeString(packages.resolve("p/manifest.yaml"), """
                apiVersion: homeostat.io/v1
                kind: Plugin
                metadata: {name: p}
                spec: {install: local, revision: yaml, entryPoint: %s, stop: {timeout: 2s}}
                """.formatted(program));

        running("yaml");
    }

    @Test
    void whatIsDisabledOrWithdrawnWhileAControlPlanesRevisionRunsNeitherDisturbsThatNorComesBack() throws Exception {
        manifest("");
        running("local");
        send(install());
        ProcessIdentity dynamic = running("R1");

        use("[p]");
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().declarations().size() == 1);
        use("[]");
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().declarations().size() == 2);
        Files.delete(packages.resolve("p/manifest.binpb"));
        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().declarations().size() == 1);
        assertEquals(dynamic, running("R1"));

        send(remove());
        bench.awaitNone(ID);
        assertTrue(ProcessHandle.of(dynamic.pid()).isEmpty());
    }

    @Test
    void aDisabledPluginIsStoppedAndRunsAgainWhenItIsEnabled() throws Exception {
        manifest("");
        running("local");

        use("[p]");
        bench.awaitNone(ID);
        use("[]");

        running("local");
    }

    @Test
    void whatWasRemovedDoesNotComeBackWhenTheLocalPluginFailsAndItsRepairedManifestIsTriedAtOnce() throws Exception {
        manifest("");
        running("local");
        send(install());
        ProcessIdentity dynamic = running("R1");
        makeProgram("#!/bin/sh\nexit 3\n");

        send(remove());

        await().atMost(AgentBench.PATIENCE)
                .until(() -> bench.store().events(0, 1000).stream()
                        .anyMatch(stored -> stored.event().type() == EventType.PLUGIN_INSTALL_FAILED
                                && stored.event().message().contains("status 3")));
        assertTrue(ProcessHandle.of(dynamic.pid()).isEmpty());
        assertEquals(Optional.empty(), process("R1"));
        makeProgram(plugin.program());
        manifest("repaired");

        running("repaired");
    }

    /** As packages have it. */
    private void manifest(String revision) throws Exception {
        ConfigurePlugin.Builder manifest = ConfigurePlugin.newBuilder();
        manifest.getPluginBuilder().setName("p").setRevisionId(revision).setEntryPoint(program.toString());
        manifest.getManifestBuilder()
                .setStopTimeout(Duration.newBuilder().setSeconds(2))
                .setStartAttemptCount(1);
        Path place = Files.createDirectories(packages.resolve("p"));
        Files.write(place.resolve("manifest.binpb"), manifest.build().toByteArray());
    }

    private ConfigurePlugin install() {
        ConfigurePlugin.Builder item = ConfigurePlugin.newBuilder().setAction(Action.INSTALL);
        item.getPluginBuilder()
                .setName("p")
                .setRevisionId("R1")
                .setGcsSignedUrl("file://" + directory + "/p.tar.gz")
                .setEntryPoint("bin/p");
        item.getManifestBuilder().setStopTimeout(Duration.newBuilder().setSeconds(2));
        return item.build();
    }

    private static ConfigurePlugin remove() {
        ConfigurePlugin.Builder item = ConfigurePlugin.newBuilder().setAction(Action.REMOVE);
        item.getPluginBuilder().setName("p");
        return item.build();
    }

    private void send(ConfigurePlugin item) throws Exception {
        assertEquals(
                Status.getDefaultInstance(),
                fake.send(Bodies.configure(item)).awaitAcknowledgement(AgentBench.PATIENCE));
    }

    private void use(String disabled) throws Exception {
        AgentConfig config = bench.config("""
                resync: 1s
                sources:
                  files: []
                  local: {directories: [%s], disabled: %s}
                  controlPlane: {endpoint: "%s", identity: none, allowUnverified: true, resource: projects/1/zones/z/instances/1}
                """.formatted(packages, disabled, fake.endpoint()));
        agent.reload(config);
        controlPlane.use(config);
    }

    private void makeProgram(String text) throws Exception {
        Path fresh = Files.writeString(directory.resolve("fresh"), text);
        Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.move(fresh, program, StandardCopyOption.REPLACE_EXISTING);
    }

    /** Its process, once it has been started in this revision. */
    private ProcessIdentity running(String revision) {
        return await().atMost(AgentBench.PATIENCE)
                .until(() -> process(revision), Optional::isPresent)
                .orElseThrow();
    }

    private Optional<ProcessIdentity> process(String revision) {
        return bench.store().instances(ID).stream()
                .filter(instance -> instance.revision().equals(revision) && instance.phase() == Phase.STARTED)
                .map(Instance::process)
                .flatMap(Stream::ofNullable)
                .findFirst();
    }
}
