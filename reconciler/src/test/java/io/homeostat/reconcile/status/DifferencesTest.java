package io.homeostat.reconcile.status;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.Maps;
import io.homeostat.desired.model.Declaration;
import io.homeostat.desired.model.EnvValue;
import io.homeostat.desired.model.Metadata;
import io.homeostat.desired.model.Placement;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.model.StandardKinds;
import io.homeostat.desired.model.Workload;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.desired.state.history.Reason;
import io.homeostat.desired.state.history.WorkloadHistory;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.desired.state.history.WorkloadHistory.LastKnownGood;
import io.homeostat.desired.yaml.CanonicalDocument;
import io.homeostat.reconcile.Written;
import io.homeostat.reconcile.plan.Action;
import io.homeostat.reconcile.plan.WorkloadPlan;
import io.homeostat.reconcile.plan.WorkloadPlan.Change;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** No field of a declaration is invisible to plan: every component of every record of the model is changed once. */
class DifferencesTest {
    private static final Placement WEB_ONLY =
            new Placement(ImmutableSortedMap.of("role", "web"), ImmutableSortedMap.of());

    private static final String LIFECYCLE = """
              stop: {signal: SIGINT}
              limits: {memory: 64Mi, cpu: 50%, required: false, oomGroup: true}
              dependsOn: [process/base]
              maxDisruption: {label: team, count: 2}
              maintenanceWindow: {start: "01:00", duration: 1h, days: [sat], timezone: Europe/Berlin}
              execution:
                type: oneShot
                timeout: 5m
                triggers: {startup: true, every: 1h, schedule: {cron: "0 2 * * *", timezone: Europe/Berlin}}
                rules: [{scope: os, attribute: ID, operator: equal, value: debian}]
            """;
    private static final String PROGRAM = """
              revision: "1"
              source:
                url: https://example.org/web.tar.gz?X-Signature=abc
                sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
                signature: %s
              entryPoint: bin/web
              arguments: ["--verbose"]
              env: {A_TOKEN: bcdefg}
              envFiles: [/etc/web.env]
              user: nobody
              workingDirectory: /srv
              umask: "0027"
              group: daemon
              supplementaryGroups: [adm]
              nice: 5
              oomScoreAdjust: 500
              rlimits: {nofile: "1024"}
            """.formatted("A".repeat(85) + "A==");
    private static final String PLUGIN = head("Plugin") + PROGRAM + LIFECYCLE;
    private static final String PROCESS = head("Process") + PROGRAM + LIFECYCLE;

    private static final String DAEMON = PROCESS.replaceAll("    (type|timeout|triggers): .*\n", "");

    private static final String TASK =
            head("Task") + """
              driver: raw_exec
              revision: "1"
              source: {url: 'https://example.org/web.tar.gz', sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}
              config: {command: /bin/true}
              env: {A: b}
              user: nobody
              ports: [{label: http, port: 8080, to: 80}]
              network: {mode: host}
              probe: {exec: {command: [/bin/true]}}
            """ + LIFECYCLE.replace("oomGroup: true}", "oomGroup: true, memoryMax: 128Mi, cores: 1}");

    private static final String SANDBOX =
            head("Sandbox") + """
              endpoint: vsock://3:1024
              hostname: guest
              dns: [10.0.0.1]
              sharedPidNamespace: true
              interfaces: [{name: eth0, hwAddr: "02:00:00:00:00:01", mtu: 1500, addresses: [10.0.0.2/24]}]
              routes: [{dest: 0.0.0.0/0, gateway: 10.0.0.1, device: eth0}]
              neighbors: [{address: 10.0.0.1, lladdr: "02:00:00:00:00:02", device: eth0}]
              storages: [{driver: virtio-fs, source: shared, fstype: virtiofs, mountPoint: /run/data, options: [ro]}]
              kernelModules: [zram]
              policy: {file: /etc/policy.rego}
            """ + LIFECYCLE.replaceAll("(  limits|    (type|timeout|triggers)): .*\n", "");

    private static final String CONTAINER = head("Container") + """
              sandbox: guest
              rootfs: {path: /run/rootfs, readonly: true}
              command: [/bin/app, --serve]
              env: {A: b}
              workingDirectory: /srv
              user: {uid: 1000, gid: 1000, additionalGids: [5]}
              terminal: true
              capabilities: [NET_ADMIN]
              mounts: [{destination: /data, source: /run/data, type: tmpfs, options: [ro]}]
              devices: [{path: /dev/vda, type: b, major: 253, minor: 1}]
              sysctl: {net.core.somaxconn: "1024"}
              frozen: true
              probe: {exec: {command: [/bin/true]}}
            """
            + LIFECYCLE.replaceAll("  limits: .*\n", "  limits: {memory: 64Mi, cpu: 50%, pids: 20}\n");

    private static final ImmutableList<String> SAMPLES = ImmutableList.of(
            PLUGIN + "  config: {string: abcdefgh}\n",
            PLUGIN + "  config: {struct: {a: bcdefgh}}\n",
            DAEMON + "  reload: {exec: {command: [/bin/true]}, watch: [/etc/web.conf]}\n",
            DAEMON.replace("kind: Process", "kind: Driver") + "  config: {enabled: true}\n",
            TASK,
            SANDBOX,
            CONTAINER,
            CONTAINER
                    .replace("path: /run/rootfs, ", "")
                    .replace(
                            "  command:",
                            "  source: {url: 'https://example.org/web.tar.gz', sha256: \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"}\n  command:"),
            CONTAINER.replace(
                    "path: /run/rootfs",
                    "storage: {driver: blk, source: vdb, fstype: ext4, mountPoint: /r, options: [ro]}"),
            PROCESS + "  probe: {http: {url: 'http://127.0.0.1:1/'}}\n",
            PROCESS + "  probe: {tcp: {address: '127.0.0.1:1'}}\n",
            PROCESS + "  probe: {exec: {command: [/bin/true]}}\n",
            PROCESS + "  probe: {grpc: {address: '127.0.0.1:1', service: s}}\n");

    private final Set<String> fields = new TreeSet<>();
    private final Set<String> changed = new TreeSet<>();

    private static String head(String kind) {
        return """
                apiVersion: homeostat.io/v1
                kind: %s
                metadata: {name: web, labels: {team: sre}}
                spec:
                """.formatted(kind);
    }

    @Test
    void aRenewedSignatureOfAUrlIsADifferenceAndNotShown() {
        Workload before = Written.workload(PLUGIN);
        Workload renewed = Written.workload(PLUGIN.replace("?", "?X-Signature=another&"));

        assertNotEquals(before, renewed);
        assertEquals(
                List.of(new Change(
                        "spec.source.url",
                        "https://example.org/web.tar.gz?(masked)",
                        "https://example.org/web.tar.gz?(masked, another value)")),
                Differences.between(before, renewed));
    }

    @Test
    void whereAVariableIsFromIsShownAndWhatItIsIsNot() {
        Workload before = Written.workload(PROCESS);
        Workload after = Written.workload(PROCESS.replace("A_TOKEN: bcdefg", "A_TOKEN: {file: /run/token}"));

        assertEquals(
                List.of(
                        new Change("spec.env.A_TOKEN.file", null, "/run/token"),
                        new Change("spec.env.A_TOKEN", "(masked)", null)),
                Differences.between(before, after));
    }

    @Test
    void everyFieldOfTheModelIsSeenByPlan() {
        Set<Class<?>> kinds = new HashSet<>();
        for (String sample : SAMPLES) {
            Workload workload = Written.workload(sample);
            kinds.add(workload.spec().getClass());
            Metadata metadata = new Metadata(workload.id().name(), workload.labels());
            assertSeen(workload, new Workload(workload.id(), ImmutableSortedMap.of("team", "x"), workload.spec()));
            assertEquals(2, metadata.getClass().getRecordComponents().length, "a name can't change, labels can");
            alter(
                    (Record) workload.spec(),
                    other ->
                            assertSeen(workload, new Workload(workload.id(), workload.labels(), (WorkloadSpec) other)));
            assertSeen(workload, new Workload(workload.id(), workload.labels(), WEB_ONLY, workload.spec()));
        }
        assertEquals(new StandardKinds().kinds().size(), kinds.size(), "a kind without a sample");
        fields.removeAll(changed);
        assertEquals(Set.of(), fields, "no sample has a value for these");
    }

    /** Hands over the record with each of its components changed, one at a time, down to the last one. */
    private void alter(Record record, Consumer<Record> altered) {
        RecordComponent[] components = record.getClass().getRecordComponents();
        for (int i = 0; i < components.length; i++) {
            int index = i;
            String name = record.getClass().getSimpleName() + "." + components[i].getName();
            fields.add(name);
            Object value = value(record, components[i]);
            Object next = value == null ? made(components[i].getType()) : value;
            if (next == null) {
                continue;
            }
            changed.add(name);
            if (next instanceof Record nested && !(next instanceof Size) && !(next instanceof Cpu)) {
                alter(nested, other -> altered.accept(with(record, index, other)));
            } else {
                altered.accept(with(record, index, value == null ? next : other(value)));
            }
        }
    }

    /** A value for a field that no sample sets; null for a structure, which a sample has to set. */
    private static @Nullable Object made(Class<?> type) {
        if (type.isEnum()) {
            return type.getEnumConstants()[0];
        }
        if (type == Boolean.class) {
            return Boolean.TRUE;
        }
        return type == String.class
                ? "made"
                : type == Duration.class ? Duration.ofSeconds(1) : type == Integer.class ? Integer.valueOf(1) : null;
    }

    private static @Nullable Object value(Record record, RecordComponent component) {
        try {
            return component.getAccessor().invoke(record);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(component.toString(), e);
        }
    }

    private static Record with(Record record, int index, Object other) {
        RecordComponent[] components = record.getClass().getRecordComponents();
        @Nullable
        Object[] values = Arrays.stream(components)
                .map(component -> value(record, component))
                .toArray();
        values[index] = other;
        try {
            return record.getClass()
                    .getDeclaredConstructor(Arrays.stream(components)
                            .map(RecordComponent::getType)
                            .toArray(Class<?>[]::new))
                    .newInstance(values);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(record.toString(), e);
        }
    }

    private static Object other(Object value) {
        return switch (value) {
            // In front: the query of a URL is no difference.
            case String text -> "x" + text;
            case Integer number -> number + 1;
            case Long number -> number + 1;
            case Boolean flag -> !flag;
            case Duration duration -> duration.plusSeconds(1);
            case Size size -> new Size(size.bytes() + 1);
            case Cpu cpu -> new Cpu(cpu.percentOfOneCore() + 1);
            case Enum<?> word -> {
                Object[] words = word.getDeclaringClass().getEnumConstants();
                yield words[(word.ordinal() + 1) % words.length];
            }
            case ObjectNode object -> object.deepCopy().put("another", 1);
            case ImmutableList<?> list -> list.subList(0, 0);
            case ImmutableSortedMap<?, ?> map
            when map.values().stream().anyMatch(EnvValue.class::isInstance) ->
                ImmutableSortedMap.of((String) map.firstKey(), new EnvValue.Text("other-value"));
            case ImmutableSortedMap<?, ?> map -> ImmutableSortedMap.of((String) map.firstKey(), "other-value");
            default -> throw new AssertionError("no other value for " + value.getClass());
        };
    }

    private static void assertSeen(Workload before, Workload after) {
        WorkloadPlan atRest =
                new WorkloadPlan(before.id(), Action.NONE, Reason.AT_DESIRED_STATE, "", ImmutableList.of(), null, null);

        WorkloadPlan shown = Differences.shown(atRest, declared(before), declared(after), WorkloadHistory.NONE);

        assertEquals(Action.UPDATE, shown.action(), () -> before + " -> " + after);
        assertFalse(shown.changes().isEmpty());
        String values = shown.changes().toString();
        assertFalse(values.contains("bcdefg") || values.contains("abc"), values);
        assertEquals(atRest, Differences.shown(atRest, declared(after), declared(after), WorkloadHistory.NONE));
    }

    private static Declaration declared(Workload workload) {
        return new Declaration(
                workload, SourceName.APPLIED, 1, CanonicalDocument.of(workload).hash(), ImmutableList.of());
    }

    @Test
    void untilAFormerRevisionIsFetchedTheDifferenceLeadsBackToIt() {
        Workload former = Written.workload(SAMPLES.getFirst());
        Declaration declared = declared(Written.workload(SAMPLES.getFirst().replace("user: nobody", "user: daemon")));
        LastKnownGood good =
                new LastKnownGood(former, CanonicalDocument.of(former).hash(), null);
        FailedRevision undone = FailedRevision.byRequest(
                declared.hash(),
                "2",
                Instant.EPOCH,
                "undone",
                new LastKnownGood(declared.workload(), declared.hash(), null));
        WorkloadHistory history = WorkloadHistory.NONE.rolledBack(undone, good);
        ImmutableList<Change> back = ImmutableList.of(new Change("spec.user", "daemon", "nobody"));

        for (Action action : List.of(Action.WAIT, Action.ROLLBACK)) {
            WorkloadPlan plan =
                    new WorkloadPlan(former.id(), action, Reason.INSTALL_FAILED, "", ImmutableList.of(), null, null);
            assertEquals(
                    back, Differences.shown(plan, declared, declared, history).changes());
        }
    }

    @Test
    void valuesAreThoseOfTheDocumentAndSecretsAreMasked() {
        Workload before = Written.workload(SAMPLES.getFirst());
        Workload after = Written.workload(SAMPLES.getFirst()
                .replace("web.tar.gz?X-Signature=abc", "web2.tar.gz?X-Signature=abd")
                .replace("[\"--verbose\"]", "[\"--token\", \"s3cr3t-s3cr3t\"]")
                .replace("abcdefgh", "ijklmnop")
                .replace("user: nobody", "user: daemon"));

        Map<String, Change> changes = Maps.uniqueIndex(Differences.between(before, after), Change::path);

        assertEquals(new Change("spec.user", "nobody", "daemon"), Objects.requireNonNull(changes.get("spec.user")));
        assertEquals(
                new Change("spec.config", "(masked)", "(masked, another value)"),
                Objects.requireNonNull(changes.get("spec.config")));
        assertTrue(changes.containsKey("spec.source.url"), changes::toString);
        String all = changes.toString();
        assertFalse(all.contains("s3cr3t") || all.contains("ijkl") || all.contains("abd"), all);
        assertTrue(all.contains("--token"), all);
    }

    @Test
    void whatIsNoSecretIsShownAndOfArgumentsThoseThatDiffer() {
        assertEquals(
                List.of(new Change("spec.arguments[2]", "--listen=127.0.0.1:8080", "--listen=127.0.0.1:8081")),
                between(
                        "arguments: [-c, sleep 7200, '--listen=127.0.0.1:8080']",
                        "arguments: [-c, sleep 7200, '--listen=127.0.0.1:8081']"));
        assertEquals(
                List.of(new Change("spec.env.GREETING", "hello", "good day")),
                between("env: {GREETING: hello}", "env: {GREETING: good day}"));
        assertEquals(
                List.of(new Change("spec.arguments[1]", "b", "x"), new Change("spec.arguments[2]", null, "y")),
                between("arguments: [a, b, c]", "arguments: [a, x, y, c]"));
        assertEquals(
                List.of(new Change("spec.arguments[0]", "a", null)),
                between("arguments: [a, b, c]", "arguments: [b, c]"));
    }

    @Test
    void whatIsMaskedOnBothSidesSaysThatItDiffers() {
        assertEquals(
                List.of(new Change("spec.env.DB_PASSWORD", "(masked)", "(masked, another value)")),
                between("env: {DB_PASSWORD: hunter2}", "env: {DB_PASSWORD: hunter3}"));
        assertEquals(
                List.of(new Change("spec.env.DB", "pg://app:(masked)@db/x", "pg://app:(masked, another value)@db/x")),
                between("env: {DB: 'pg://app:hunter2@db/x'}", "env: {DB: 'pg://app:hunter3@db/x'}"));
        assertEquals(
                List.of(new Change("spec.arguments[1]", "(masked)", "(masked, another value)")),
                between("arguments: [--token, hunter2]", "arguments: [--token, hunter3]"));
    }

    private static ImmutableList<Change> between(String before, String after) {
        return Differences.between(daemon(before), daemon(after));
    }

    private static Workload daemon(String line) {
        return Written.workload(head("Process") + "  install: local\n  entryPoint: /bin/web\n  " + line + "\n");
    }
}
