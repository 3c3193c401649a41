package io.homeostat.desired.yaml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.platform.TrustedPath;
import io.homeostat.desired.yaml.AgentConfigReader.Places;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AgentConfigReaderTest {
    private static final Schema SCHEMA = SchemaRegistry.withDefaultDialect(SpecificationVersion.DRAFT_2020_12)
            .getSchema(JsonSchema.agent(), InputFormat.JSON);

    private static final AgentConfig DEFAULTS = new AgentConfig(
            null,
            null,
            "auto",
            Duration.ofSeconds(30),
            ImmutableSortedMap.of(),
            new AgentConfig.Sources(
                    null,
                    ImmutableList.of(),
                    new AgentConfig.Local(ImmutableList.of("/usr/lib/google/guest_agent"), ImmutableList.of()),
                    null,
                    null,
                    null,
                    null,
                    null),
            ImmutableList.of("GuestAgentCorePlugin"),
            new AgentConfig.Signatures(
                    false, ImmutableList.of(), new AgentConfig.SignedSets(false, ImmutableList.of(), "default")),
            new AgentConfig.Exporter("127.0.0.1:9464"),
            new AgentConfig.Ui("", false, false),
            new AgentConfig.Log(AgentConfig.Log.Format.TEXT, AgentConfig.Log.Level.INFO, AgentConfig.Log.Target.FILES),
            new AgentConfig.Bounds(
                    new Size(4L << 30),
                    new Size(16L << 30),
                    200_000,
                    new Size(50L << 20),
                    10_000,
                    new Size(1L << 30),
                    Duration.ofDays(1),
                    new Size(512L << 20),
                    new Cpu(100)),
            ImmutableList.of());

    private static final AgentConfig.Tls CA = new AgentConfig.Tls("/ca.pem", null, null);

    @TempDir
    Path directory;

    @Test
    void everyKeyHasADefault() throws IOException {
        assertEquals(DEFAULTS, AgentConfigReader.defaults());
        assertEquals(valid(DEFAULTS), read("# nothing\n"));
        assertEquals(valid(DEFAULTS), read("sources: {local: {}}\n"));
    }

    @Test
    void everyKeyIsRead() throws IOException {
        String yaml = """
                stateDir: /s
                runDir: /r
                instanceId: i-1
                resync: 1m
                labels: {role: web, example.com/tier: "1"}
                sources:
                  files: [/a, /b]
                  owners: [deploy]
                  local: {directories: [], disabled: [x]}
                  controlPlane:
                    endpoint: unix:/run/acs.sock
                    channel: c
                    resource: projects/1/zones/z/instances/1
                    identity: {file: /token}
                    tls: {ca: /ca.pem, certificate: /c.pem, key: /k.pem}
                    allowUnverified: true
                  etcd:
                    endpoints: ["https://a:2379", "http://[::1]:2379"]
                    prefix: /fleet
                    login: {user: m, passwordFile: /p}
                    tls: {ca: /ca.pem}
                  bucket:
                    url: s3://b/set.json
                    reports: s3://b/reports
                    credentials: {file: /keys}
                    endpoint: http://127.0.0.1:9000
                    region: eu-central-1
                    interval: 10s
                  https: {url: "https://h/set", tokenFile: /t, tls: {ca: /ca.pem}, interval: 1s}
                  git:
                    url: https://h/r.git
                    branch: main
                    path: fleet
                    login: {user: u, passwordFile: /p}
                    tls: {ca: /ca.pem}
                    signedBy: [/signers]
                    interval: 5m
                protectedPlugins: []
                signatures: {require: true, keys: [/k.pub], documents: {require: true, keys: [/s.pub], fleet: staging}}
                metrics: {listen: ""}
                ui: {listen: "127.0.0.1:9465", operations: true, fleet: true}
                log: {format: json, level: debug}
                limits: {downloadBytes: 1, unpackedBytes: 2, entries: 3, logBytesPerWorkload: 1Mi, events: 5, cacheBytes: 0, cacheAge: 7s, memory: 128Mi, cpu: 50%}
                notify:
                - {on: [CRASHED], exec: [/bin/true], timeout: 5s}
                - webhook: https://example.com/T0
                """;
        assertEquals(List.of(), SCHEMA.validate(yaml, InputFormat.YAML));
        AgentConfig expected = new AgentConfig(
                "/s",
                "/r",
                "i-1",
                Duration.ofMinutes(1),
                ImmutableSortedMap.of("role", "web", "example.com/tier", "1"),
                new AgentConfig.Sources(
                        ImmutableList.of("/a", "/b"),
                        ImmutableList.of("deploy"),
                        new AgentConfig.Local(ImmutableList.of(), ImmutableList.of("x")),
                        new AgentConfig.ControlPlane(
                                "unix:/run/acs.sock",
                                "c",
                                "projects/1/zones/z/instances/1",
                                new AgentConfig.Identity.TokenFile("/token"),
                                new AgentConfig.Tls("/ca.pem", "/c.pem", "/k.pem"),
                                true),
                        new AgentConfig.Etcd(
                                ImmutableList.of("https://a:2379", "http://[::1]:2379"),
                                "/fleet",
                                new AgentConfig.Login("m", "/p"),
                                CA),
                        new AgentConfig.Bucket(
                                "s3://b/set.json",
                                "s3://b/reports",
                                new AgentConfig.Identity.TokenFile("/keys"),
                                "http://127.0.0.1:9000",
                                "eu-central-1",
                                Duration.ofSeconds(10)),
                        new AgentConfig.Https("https://h/set", "/t", CA, Duration.ofSeconds(1)),
                        new AgentConfig.Git(
                                "https://h/r.git",
                                "main",
                                null,
                                "fleet",
                                new AgentConfig.Login("u", "/p"),
                                CA,
                                ImmutableList.of("/signers"),
                                Duration.ofMinutes(5))),
                ImmutableList.of(),
                new AgentConfig.Signatures(
                        true,
                        ImmutableList.of("/k.pub"),
                        new AgentConfig.SignedSets(true, ImmutableList.of("/s.pub"), "staging")),
                new AgentConfig.Exporter(""),
                new AgentConfig.Ui("127.0.0.1:9465", true, true),
                new AgentConfig.Log(
                        AgentConfig.Log.Format.JSON, AgentConfig.Log.Level.DEBUG, AgentConfig.Log.Target.FILES),
                new AgentConfig.Bounds(
                        new Size(1),
                        new Size(2),
                        3,
                        new Size(1 << 20),
                        5,
                        new Size(0),
                        Duration.ofSeconds(7),
                        new Size(128 << 20),
                        new Cpu(50)),
                ImmutableList.of(
                        new AgentConfig.Hook(
                                ImmutableList.of("CRASHED"),
                                ImmutableList.of("/bin/true"),
                                null,
                                Duration.ofSeconds(5)),
                        new AgentConfig.Hook(
                                ImmutableList.of("CRASHED", "GIVEN_UP", "ROLLED_BACK"),
                                ImmutableList.of(),
                                "https://example.com/T0",
                                Duration.ofSeconds(30))));
        assertEquals(valid(expected), read(yaml));
        assertEquals(
                List.of("/k.pub", "/s.pub", "/signers", "/ca.pem"),
                expected.trustAnchors().stream().map(Path::toString).toList());
    }

    @Test
    void aControlPlaneHasDefaultsOfItsOwn() throws IOException {
        AgentConfig config =
                read("sources: {controlPlane: {endpoint: \"localhost:443\"}}\n").config();
        assertEquals(
                new AgentConfig.ControlPlane(
                        "localhost:443",
                        "compute.googleapis.com/google-guest-agent",
                        null,
                        AgentConfig.Identity.Known.METADATA,
                        null,
                        false),
                config == null ? null : config.sources().controlPlane());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "localhost:0", "0.0.0.0:65535", "[::1]:9464", "unix:/run/homeostat/metrics.sock"})
    void metricsMayBeReadOverAPortOrASocketOrNotAtAll(String listen) throws IOException {
        String yaml = "metrics: {listen: \"" + listen + "\"}\n";

        assertEquals(List.of(), SCHEMA.validate(yaml, InputFormat.YAML));
        AgentConfig config = read(yaml).config();
        assertEquals(listen, config == null ? null : config.metrics().listen());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "127.0.0.1:9465", "127.1.2.3:1", "[::1]:0", "localhost:65535"})
    void thePageMayBeOnLoopbackOrNowhere(String listen) throws IOException {
        String yaml = "ui: {listen: \"" + listen + "\"}\n";

        assertEquals(List.of(), SCHEMA.validate(yaml, InputFormat.YAML));
        AgentConfig config = read(yaml).config();
        assertEquals(new AgentConfig.Ui(listen, false, false), config == null ? null : config.ui());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "0.0.0.0:9465",
                "[::]:9465",
                "10.0.0.1:9465",
                "127.0.0.1",
                "127.0.0.1.example.com:9465",
                "localhost.example.com:9465",
                "unix:/run/ui.sock",
                "*:9465"
            })
    void thePageIsNotOpenedToOtherMachinesAndTheErrorNamesTheTunnel(String listen) throws IOException {
        assertErrors(
                "ui: {listen: \"" + listen + "\"}\n",
                "1:14: ui.listen: '" + listen
                        + "' is not possible here; write a loopback address with its port, such as"
                        + " 127.0.0.1:9465, or nothing between quotes; other machines reach it by a tunnel,"
                        + " ssh -L 9465:127.0.0.1:9465 HOST");
    }

    @Test
    void aPageShowsAFleetOnlyWhereThereIsOne() throws IOException {
        String nowhere = "ui.fleet: without sources.etcd there is no fleet to show; write where it is, or remove this";
        assertErrors("ui: {fleet: true}\n", "1:6: " + nowhere);
        assertErrors("ui: {listen: \"\", fleet: true}\nsources: {files: [/d]}\n", "1:18: " + nowhere);

        String yaml = "ui: {fleet: true}\nsources: {etcd: {endpoints: [\"http://127.0.0.1:2379\"]}}\n";
        assertEquals(List.of(), SCHEMA.validate(yaml, InputFormat.YAML));
        assertEquals(ImmutableList.of(), read(yaml).errors());
    }

    @Test
    void mistakesAreReportedLikeThoseOfDocuments() throws IOException {
        assertErrors(
                "stateDirectory: /x\n",
                "1:1: unknown key 'stateDirectory'; known here: stateDir, runDir, instanceId, resync, labels, "
                        + "sources, protectedPlugins, signatures, metrics, ui, log, limits, notify");
        assertErrorAt(
                "1:14 log.level", "log: {level: verbose}\n", "'verbose'", "error or warn or info or debug or trace");
        assertErrors(
                "sources: {controlPlane: {identity: metadata}}\n",
                "1:11: sources.controlPlane: required key 'endpoint' is missing");
        assertEquals(
                2, read("sources: {controlPlane: {identity: x}}\n").errors().size());
        assertErrorAt(
                "1:36 sources.controlPlane.identity",
                "sources: {controlPlane: {identity: x, endpoint: \"a:1\"}}\n",
                "'x'",
                "metadata or none");
        assertErrors(
                "signatures: {require: true}\n",
                "1:14: signatures.require: without keys no archive could ever be installed; name keys or remove it");
        assertErrors(
                "sources: {controlPlane: {endpoint: \"a:1\", tls: {key: /k}}}\n",
                "1:49: sources.controlPlane.tls.key: of no use without certificate; write both or none");
        assertErrors(
                "metrics: {listen: off}\n",
                "1:19: metrics.listen: 'off' is not possible here; write HOST:PORT, unix:/PATH, or nothing between quotes");
        assertErrorAt("1:19 metrics.listen", "metrics: {listen: \"127.0.0.1:65536\"}\n", "'127.0.0.1:65536'");
        assertErrorAt("1:19 metrics.listen", "metrics: {listen: \"unix:run/x.sock\"}\n", "'unix:run/x.sock'");
        assertErrors("[]\n", "1:1: a list where a mapping is wanted, such as {key: value}");
    }

    @Test
    void aSourceOfSetsThatNobodyShouldTrustIsRefused() throws IOException {
        String plain = "is plain http, with which anybody on the way could change what is declared; write https";
        assertErrors("sources: {https: {url: \"http://a/s?k=v\"}}\n", "1:24: sources.https.url: " + plain);
        assertErrors(
                "sources: {etcd: {endpoints: [\"https://a:1\", \"http://b:1\"], login: {user: u, passwordFile: /p}}}\n",
                "1:60: sources.etcd.login: its password would go over plain http, where anybody on the way could read it; write https in endpoints");
        assertErrors("sources: {https: {url: \"http://127.evil.com/s\"}}\n", "1:24: sources.https.url: " + plain);
        assertErrors("sources: {https: {url: \"http://localhost@a/s\"}}\n", "1:24: sources.https.url: " + plain);
        assertErrors("sources: {git: {url: \"http://a/s\"}}\n", "1:22: sources.git.url: " + plain);
        assertErrors("sources: {bucket: {url: \"http://a/s\"}}\n", "1:25: sources.bucket.url: " + plain);
        assertErrors(
                "sources: {bucket: {url: \"gs://a/s\", endpoint: \"http://a/\"}}\n",
                "1:47: sources.bucket.endpoint: " + plain);
        assertErrors(
                "sources: {git: {url: \"https://a/s\", branch: a, tag: b}}\n",
                "1:48: sources.git.tag: there is branch already, and only one of both is possible; remove one");
        assertErrors(
                "signatures: {documents: {require: true}}\n",
                "1:26: signatures.documents.require: without keys no set could ever be taken; name keys or remove it");
        assertEquals(
                "1:24: sources.https.url: is not a URL; write it with %XX in place of other characters",
                errorsOf("sources: {https: {url: \"https://a/{b}?k=v\"}}\n").replace("agent.yaml:", ""));
        assertEquals(
                "1:22: sources.git.url: names a host that can't be fetched from, as its name 'a_b' has '_';"
                        + " use its address or another name",
                errorsOf("sources: {git: {url: \"https://u:p_w@a_b:8443/s_t\"}}\n")
                        .replace("agent.yaml:", ""));
        for (String url : List.of("http://127.0.0.1:80/s", "http://u:p@localhost/s", "http://[::1]/s", "https://a")) {
            String yaml = "sources: {https: {url: \"" + url + "\"}}\n";
            assertEquals(List.of(), SCHEMA.validate(yaml, InputFormat.YAML), url);
            assertEquals(ImmutableList.of(), read(yaml).errors(), url);
        }
    }

    @Test
    void aHookThatCouldNeverWorkIsRefused() throws IOException {
        assertErrors(
                "notify: [{exec: []}]\n", "1:17: notify[0].exec: has 0 elements; write a program and its arguments");
        assertErrorAt("1:18 notify[0].exec[0]", "notify: [{exec: [\"\"]}]\n", "empty");
        assertErrors(
                "notify: [{exec: [rel/cmd, secret]}]\n",
                "1:18: notify[0].exec[0]: is relative, and hooks run in /; write an absolute path, or the name of a"
                        + " program in PATH");
        assertErrorAt("1:15 notify[0].on", "notify: [{on: [], exec: [/bin/true]}]\n", "write at least 1");

        String named = "notify: [{exec: [logger, \"\", a/b]}]\n";
        assertEquals(List.of(), SCHEMA.validate(named, InputFormat.YAML));
        assertEquals(
                "",
                String.join(
                        "", read(named).errors().stream().map(Problem::toString).toList()));
    }

    /** A schema can't say all of this. */
    @ParameterizedTest
    @CsvSource({
        "https://example.com/a|b, not a URL: Illegal character in path at character 22; percent-encode it",
        "https://my_host/T0, 'as its name ''my_host'' has ''_''; use its address or another name'",
        "https:///T0, a URL that names no host; write one",
        "http://?T0, a URL that names no host; write one",
        "http://localhost:65536/T0, a URL with a port above 65535; write another",
    })
    void aWebhookThatNothingCouldBePostedToIsRefusedWithoutItsUrl(String url, String problem) throws IOException {
        String errors = errorsOf("notify: [{webhook: \"" + url + "\"}]\n");
        assertTrue(errors.startsWith("agent.yaml:1:20: notify[0].webhook: ") && errors.endsWith(problem), errors);
        assertFalse(errors.contains(url) || errors.contains("T0"), errors);
    }

    @Test
    void thereIsOnlyOneDocument() throws IOException {
        assertEquals("agent.yaml:3:1: a second document; agent.yaml is only one", errorsOf("{}\n---\na: b\n"));
    }

    @Test
    void aMissingFileIsAnError() {
        Path missing = directory.resolve("missing.yaml");
        Problem problem = AgentConfigReader.read(missing).errors().getFirst();
        assertEquals(Problem.Kind.UNREADABLE, problem.kind());
        assertTrue(problem.toString().startsWith(missing + ": "), problem::toString);
    }

    @Test
    void whatElseIsWrongDoesNotHideWhereTheAgentIs() throws IOException {
        for (String wrong : new String[] {
            "metrcs: {listen: \"\"}\n",
            "resync: fast\n",
            "log: [a]\n",
            "instanceId: -1\n",
            "limits: {memory: lots, directories: 3}\n"
        }) {
            assertEquals(new Places(null, null), placesOf(wrong), wrong);
            assertEquals(new Places("/s", "/r"), placesOf("stateDir: /s\nrunDir: /r\n" + wrong), wrong);
        }
        assertEquals(new Places(null, null), placesOf("log: {}\n# stateDir: /x\nlog: {}\n"));
    }

    @Test
    void aKeyThatMayMeanAnotherPlaceHidesWhereTheAgentIs() throws IOException {
        for (String wrong : new String[] {
            "statDir: /s\n",
            "state_dir: s\n",
            "StateDir: /s\n",
            "state: s\n",
            "run-dir: /r\n",
            "data: /s\n",
            "stateDirectory: data\n",
            "dir: ~/homeostat\n",
            "storage: {path: /s}\n",
            "metrcs: /s\n",
            "log:\n  stateDir: /s\n",
            "notify: [{runDir: /r}]\n",
            "stateDir: s\n",
            "stateDir:\n",
            "runDir: [/r]\n"
        }) {
            assertNull(placesOf(wrong), wrong);
        }
    }

    @Test
    void aFileOfWhichNotAllIsReadHidesWhereTheAgentIs() throws IOException {
        for (String wrong : new String[] {
            "log: {\n",
            "log: {}\n\tresync: 1s\n",
            "resync: 1s\n<<: {stateDir: /s}\n",
            "stateDir: /s\nstateDir: /t\n",
            "log: {}\nlog:\n  stateDir: /s\n",
            "{}\n---\nstateDir: /s\n",
            "{}\n---\nresync: 1s\n",
            "stateDir\n",
            "- stateDir\n",
            "stateDir: !!str /s\n"
        }) {
            assertNull(placesOf(wrong), wrong);
        }
        assertNull(AgentConfigReader.read(directory).places());
        assertNull(AgentConfigReader.read(directory.resolve("missing.yaml")).places());
    }

    @Test
    void aFileThatCannotTellMayStillLookAsIfItNamedNoPlace() throws IOException {
        String rest = Files.readString(Path.of("..", "examples", "agent", "agent.yaml"))
                .replace("stateDir:", "#")
                .replace("runDir:", "#");
        for (String wrong : new String[] {"log: {\n", "# stateDir: /s\nlog: {}\n\tresync: 1s\n", rest + "log: {\n"}) {
            assertNull(placesOf(wrong), wrong);
            assertFalse(read(wrong).namesPlace(), wrong);
        }
        for (String wrong : new String[] {
            "stateDir: /s\nlog: {\n",
            "log: {\n  state-dir: s\n",
            "\"rundir\" : r\nlog: {\n",
            "storage: {path: /s}\nlog: {\n",
            "{storage: {path: /s}, log: {\n",
            "{}\n---\nstateDir: /s\n",
            "stateDirectory: data\n",
            "stateDir: s\n",
            "log: \u0000\n"
        }) {
            assertTrue(read(wrong).namesPlace(), wrong);
        }
        assertTrue(AgentConfigReader.read(directory).namesPlace());
        assertTrue(AgentConfigReader.read(directory.resolve("missing.yaml")).namesPlace());
        assertFalse(read("stateDir: /s\nmetrcs: {}\n").namesPlace(), "it tells");
        assertFalse(read("stateDir: /s\n").namesPlace(), "it tells");
    }

    @Test
    void noKeyOfTheFormatIsTakenForAnotherPlace() throws IOException {
        String example = Files.readString(Path.of("..", "examples", "agent", "agent.yaml"));

        assertEquals(new Places("/var/lib/homeostat", "/run/homeostat"), placesOf(example + "metrcs: 1\n"));
    }

    /** As a file with errors tells them. */
    private @Nullable Places placesOf(String yaml) throws IOException {
        AgentConfigReader.Result result = read(yaml);
        assertNull(result.config(), yaml);
        return result.places();
    }

    private static AgentConfigReader.Result valid(AgentConfig config) {
        return new AgentConfigReader.Result(
                config, new Places(config.stateDir(), config.runDir()), false, ImmutableList.of());
    }

    private void assertErrors(String yaml, String... expected) throws IOException {
        assertEquals(String.join("\n", expected), errorsOf(yaml).replace("agent.yaml:", ""));
        assertEquals(false, SCHEMA.validate(yaml, InputFormat.YAML).isEmpty(), "the schema accepts " + yaml);
    }

    /** One error, which is at this place and says these values. */
    private void assertErrorAt(String place, String yaml, String... values) throws IOException {
        ImmutableList<Problem> errors = read(yaml).errors();
        assertEquals(1, errors.size(), errors::toString);
        assertEquals(place, errors.getFirst().whereInFile());
        for (String value : values) {
            assertTrue(errors.getFirst().message().contains(value), errors::toString);
        }
        assertEquals(false, SCHEMA.validate(yaml, InputFormat.YAML).isEmpty(), "the schema accepts " + yaml);
    }

    private String errorsOf(String yaml) throws IOException {
        AgentConfigReader.Result result = read(yaml);
        assertNull(result.config());
        return String.join("\n", result.errors().stream().map(Problem::toString).toList())
                .replace(directory + "/", "");
    }

    private AgentConfigReader.Result read(String yaml) throws IOException {
        return AgentConfigReader.read(Files.writeString(directory.resolve("agent.yaml"), yaml));
    }

    @Test
    void aFileThatOthersCanChangeIsNotRead() throws IOException {
        Path file = Files.writeString(directory.resolve("others.yaml"), "stateDir: /tmp/x\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));

        AgentConfigReader.Result read = AgentConfigReader.read(file, TrustedPath.ofThisProcess(List.of()));

        assertNull(read.config());
        assertNull(read.places());
        assertEquals(
                List.of(Problem.Kind.UNTRUSTED),
                read.errors().stream().map(Problem::kind).toList());
    }

    @Test
    void metricsThatOtherMachinesMayReadAreWarnedOf() {
        for (String open : List.of("0.0.0.0:9464", "[::]:9464", "10.0.0.1:9464", "myhost:9464")) {
            assertTrue(new AgentConfig.Exporter(open).warning().isPresent(), open);
        }
        for (String own : List.of("", "127.0.0.1:9464", "127.1.2.3:9464", "[::1]:9464", "localhost:1", "unix:/run/m")) {
            assertTrue(new AgentConfig.Exporter(own).warning().isEmpty(), own);
        }
    }
}
