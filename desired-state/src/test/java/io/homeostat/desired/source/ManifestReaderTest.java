package io.homeostat.desired.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.Duration;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.Lifecycle;
import io.homeostat.desired.model.Lifecycle.Start;
import io.homeostat.desired.model.Lifecycle.Stop;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.Source;
import io.homeostat.desired.model.Structs;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.yaml.DocumentCodec;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.ConfigurePluginStates.Manifest;
import io.homeostat.proto.acp.PluginInstallationType;
import io.homeostat.proto.acp.PluginType;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ManifestReaderTest {
    private static final String SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

    @Test
    void everyFieldOfAMessageIsWhatADocumentWouldSay() {
        ConfigurePlugin.Builder message = sent();
        message.getPluginBuilder().setChecksum(SHA).addArguments("--verbose").addArguments("");
        message.getManifestBuilder()
                .setMaxMemoryUsageBytes(64 << 20)
                .setMaxCpuUsagePercentage(250)
                .setMetricsInterval(seconds(5))
                .setDownloadTimeout(seconds(90))
                .setDownloadAttemptCount(7)
                .setStartTimeout(seconds(11))
                .setStartAttemptCount(4)
                .setStopTimeout(seconds(12))
                .setMaxMetricDatapoints(9)
                .setStartExpBackoffFactor(3)
                .setStringConfig("a: b");
        PluginSpec spec = spec(message);
        Program program = spec.program();
        Lifecycle lifecycle = spec.lifecycle();
        assertEquals("R1", program.revision());
        assertEquals(
                new Source("https://host/a.tar.gz?X-Goog-Signature=s3cr3t", SHA, java.time.Duration.ofSeconds(90), 7),
                program.source());
        assertEquals("bin/ops-agent", program.entryPoint());
        assertEquals(ImmutableList.of("--verbose", ""), program.arguments());
        assertEquals(Program.Install.DYNAMIC, program.install());
        assertEquals(new Size(64 << 20), lifecycle.limits().memory());
        assertEquals(new Cpu(250), lifecycle.limits().cpu());
        assertEquals(new Start(java.time.Duration.ofSeconds(11), 4, 3), lifecycle.start());
        assertEquals(new Stop(java.time.Duration.ofSeconds(12)), lifecycle.stop());
        assertEquals(java.time.Duration.ofSeconds(5), lifecycle.metrics().interval());
        assertEquals(9, lifecycle.metrics().maxDatapoints());
        assertEquals(new Config("a: b", null), spec.config());
    }

    @Test
    void whatIsUnsetOrZeroGetsTheDefaultsOfADocument() {
        Program program = spec(sent()).program();
        Lifecycle lifecycle = spec(sent()).lifecycle();
        assertEquals(new Start(java.time.Duration.ofSeconds(30), 3, 2), lifecycle.start());
        assertEquals(new Stop(java.time.Duration.ofSeconds(30)), lifecycle.stop());
        Source source = program.source();
        assertNotNull(source);
        assertEquals(java.time.Duration.ofSeconds(60), source.timeout());
        assertEquals(3, source.attempts());
        assertNull(source.sha256());
        assertFalse(lifecycle.limits().areAny());
        assertEquals(60, lifecycle.metrics().maxDatapoints());
        assertNull(spec(sent()).config());
    }

    @Test
    void timesBelowASecondCount() {
        ConfigurePlugin.Builder message = sent();
        message.getManifestBuilder()
                .setStopTimeout(Duration.newBuilder().setNanos(250_000_000))
                .setStartTimeout(Duration.newBuilder().setSeconds(1).setNanos(1));
        Lifecycle lifecycle = spec(message).lifecycle();
        assertEquals(java.time.Duration.ofMillis(250), lifecycle.stop().timeout());
        assertEquals(java.time.Duration.ofMillis(1001), lifecycle.start().timeout());
    }

    @Test
    void aStructuredConfigurationComesThroughWhole() {
        Struct struct = Struct.newBuilder()
                .putFields("z", Value.newBuilder().setNumberValue(-0.5e-7).build())
                .putFields("a", Value.newBuilder().setNumberValue(1e300).build())
                .putFields(
                        "text", Value.newBuilder().setStringValue("010\n\u20ac").build())
                .putFields("on", Value.newBuilder().setBoolValue(true).build())
                .putFields(
                        "in",
                        Value.newBuilder()
                                .setStructValue(Struct.getDefaultInstance())
                                .build())
                .build();
        ConfigurePlugin.Builder message = sent();
        message.getManifestBuilder().setStructConfig(struct);
        Config config = spec(message).config();
        assertNotNull(config);
        assertNotNull(config.struct());
        assertEquals(struct, Structs.toProto(config.struct()));
    }

    @Test
    void whatIsReadCanBeStoredAndReadBack() {
        ConfigurePlugin.Builder message = sent();
        message.getManifestBuilder().setStringConfig("").setPluginType(PluginType.ONE_SHOT);
        Workload workload = workload(message);
        assertEquals(workload, DocumentCodec.fromJson(DocumentCodec.toJson(workload)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"a/b", "../a", ".a", "a b", "\u00e4", "a\u0000\n"})
    void whatAMessageCanCarryIsANameAndARevisionAndCanBeStored(String text) {
        ConfigurePlugin.Builder message = sent();
        message.getPluginBuilder().setName(text).setRevisionId(text);

        Workload workload = workload(message);

        assertEquals(text, workload.id().name());
        assertEquals(text, workload.revision());
        assertEquals(workload, DocumentCodec.fromJson(DocumentCodec.toJson(workload)));
    }

    @Test
    void aNameAndARevisionMayBeAsLongAsAMessage() {
        whatAMessageCanCarryIsANameAndARevisionAndCanBeStored("x ".repeat(1_000_000));
    }

    @Test
    void noNameAndNoRevisionAreRefused() {
        ConfigurePlugin.Builder message = sent();
        message.getPluginBuilder().setName("");
        assertRefused("plugin.name: ", message);
        message = sent();
        message.getPluginBuilder().setRevisionId("");
        assertRefused("plugin.revision_id: ", message);
    }

    @Test
    void onlyAnInstallationDeclaresAnything() {
        assertRefused("action: REMOVE declares nothing; only INSTALL does", sent().setAction(Action.REMOVE));
        assertRefused("action: UNRECOGNIZED ", sent().setActionValue(9));
        assertRefused("action: ACTION_UNSPECIFIED ", sent().clearAction());
    }

    @Test
    void allThatIsWrongIsNamedByItsField() {
        ConfigurePlugin.Builder message = sent();
        message.getPluginBuilder()
                .setEntryPoint("/bin/x")
                .setGcsSignedUrl("ftp://host/x?secret")
                .setChecksum("12");
        message.getManifestBuilder()
                .setMaxMemoryUsageBytes(-1)
                .setMaxCpuUsagePercentage(-1)
                .setMetricsInterval(seconds(-1))
                .setDownloadTimeout(Duration.newBuilder().setSeconds(1).setNanos(-1))
                .setDownloadAttemptCount(-1)
                .setStartTimeout(seconds(Long.MAX_VALUE))
                .setStartAttemptCount(Integer.MAX_VALUE)
                .setStopTimeout(seconds(-315_576_000_001L))
                .setMaxMetricDatapoints(-1)
                .setStartExpBackoffFactor(-1)
                .setStructConfig(Struct.newBuilder()
                        .putFields(
                                "x",
                                Value.newBuilder().setNumberValue(Double.NaN).build()));
        ImmutableList<ManifestReader.Problem> problems =
                ManifestReader.sent(message.build()).problems();
        assertEquals(
                List.of(
                        "manifest.download_attempt_count",
                        "manifest.download_timeout",
                        "manifest.max_cpu_usage_percentage",
                        "manifest.max_memory_usage_bytes",
                        "manifest.max_metric_datapoints",
                        "manifest.metrics_interval",
                        "manifest.start_attempt_count",
                        "manifest.start_exp_backoff_factor",
                        "manifest.start_timeout",
                        "manifest.stop_timeout",
                        "manifest.struct_config",
                        "plugin.checksum",
                        "plugin.entry_point",
                        "plugin.gcs_signed_url"),
                problems.stream().map(ManifestReader.Problem::field).sorted().toList(),
                problems::toString);
        assertFalse(problems.toString().contains("secret"), problems::toString);
    }

    @Test
    void whatAPackageInstalledNeedsNeitherActionNorRevisionNorUrl() {
        ManifestReader.Result result = ManifestReader.installed(installed().build());
        assertEquals(ImmutableList.of(), result.problems());
        Workload workload = result.workload().orElseThrow();
        assertEquals(WorkloadId.plugin("ops-agent"), workload.id());
        assertEquals(Program.Install.LOCAL, workload.program().install());
        assertEquals("local", workload.revision());
        assertEquals("/opt/ops-agent", workload.program().entryPoint());
        assertNull(workload.source());
    }

    @Test
    void whatAPackageInstalledIsLocalWhateverElseItSays() {
        ConfigurePlugin.Builder message = installed().setAction(Action.INSTALL);
        message.getPluginBuilder().setGcsSignedUrl("https://host/x").setRevisionId("1.0");
        message.getManifestBuilder().setPluginInstallationType(PluginInstallationType.DYNAMIC_INSTALLATION);
        Workload workload = ManifestReader.installed(message.build()).workload().orElseThrow();
        assertEquals("1.0", workload.revision());
        assertNull(workload.source());
    }

    @Test
    void anEntryPointOnTheDiskHasToBeAbsolute() {
        ConfigurePlugin.Builder message = installed();
        message.getPluginBuilder().setEntryPoint("ops-agent");
        assertEquals(
                ImmutableList.of(new ManifestReader.Problem(
                        "plugin.entry_point", "has to be absolute when install is local, such as /usr/bin/ops-agent")),
                ManifestReader.installed(message.build()).problems());
    }

    @Test
    void aControlPlaneMayNameWhatIsOnTheDiskAlready() {
        ConfigurePlugin.Builder message = installed().setAction(Action.INSTALL);
        message.getManifestBuilder().setPluginInstallationType(PluginInstallationType.LOCAL_INSTALLATION);
        assertEquals(Program.Install.LOCAL, spec(message).program().install());
    }

    static ConfigurePlugin.Builder sent() {
        ConfigurePlugin.Builder message = ConfigurePlugin.newBuilder().setAction(Action.INSTALL);
        message.getPluginBuilder()
                .setName("ops-agent")
                .setRevisionId("R1")
                .setGcsSignedUrl("https://host/a.tar.gz?X-Goog-Signature=s3cr3t")
                .setEntryPoint("bin/ops-agent");
        return message;
    }

    /** As the published local manifests are. */
    static ConfigurePlugin.Builder installed() {
        ConfigurePlugin.Builder message = ConfigurePlugin.newBuilder();
        message.getPluginBuilder().setName("ops-agent").setEntryPoint("/opt/ops-agent");
        message.setManifest(Manifest.newBuilder()
                .setStartAttemptCount(5)
                .setStartTimeout(seconds(30))
                .setStopTimeout(seconds(30))
                .setPluginType(PluginType.DAEMON));
        return message;
    }

    private static Duration seconds(long seconds) {
        return Duration.newBuilder().setSeconds(seconds).build();
    }

    private static Workload workload(ConfigurePlugin.Builder message) {
        ManifestReader.Result result = ManifestReader.sent(message.build());
        assertEquals(ImmutableList.of(), result.problems());
        return result.workload().orElseThrow();
    }

    private static PluginSpec spec(ConfigurePlugin.Builder message) {
        return (PluginSpec) workload(message).spec();
    }

    private static void assertRefused(String beginning, ConfigurePlugin.Builder message) {
        ManifestReader.Result result = ManifestReader.sent(message.build());
        assertEquals(1, result.problems().size(), result.problems()::toString);
        assertEquals(beginning, result.problems().getFirst().toString().substring(0, beginning.length()));
        assertEquals(Optional.empty(), result.workload());
    }
}
