package io.homeostat.desired.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.desired.fleet.RolloutState.Phase;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.yaml.Choice;
import io.homeostat.desired.yaml.DocumentReader;
import io.homeostat.desired.yaml.DocumentReader.Input;
import io.homeostat.desired.yaml.DocumentReader.ReadResult;
import io.homeostat.desired.yaml.DocumentReader.Texts;
import io.homeostat.desired.yaml.Problem;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class SetSelectionTest {
    private static final String ROLLOUT = """
            ---
            apiVersion: homeostat.io/v1
            kind: Rollout
            metadata: {name: web-2}
            spec: {workloads: [process/web], from: "1", to: "2"}
            """;
    private static final String TWO_REVISIONS = process("web", "1", "{}") + process("web", "2", "{}");

    @Test
    void aDocumentIsForTheMachinesThatItsPlacementNames() {
        String texts = process("anywhere", "1", "{}")
                + process("web", "1", "{matchLabels: {role: web, os.ID: debian}}")
                + process("db", "1", "{matchLabels: {role: db}}")
                + process("tier", "1", "{matchLabels: {tier: front}}")
                + process("no-arm", "1", "{excludeLabels: {host.arch: x86_64, role: none}}");

        assertEquals("""
                here process/anywhere 1
                here process/web 1
                not process/db 1: placement.matchLabels asks for role 'db', and this machine has 'web'
                not process/tier 1: placement.matchLabels asks for tier 'front', and this machine has no such label
                not process/no-arm 1: placement.excludeLabels leaves out host.arch 'x86_64', which this machine has
                """, shown(texts, labels()));
    }

    @Test
    void aWorkloadMayBeDeclaredForEachKindOfMachine() {
        String texts = process("web", "1", "{matchLabels: {role: web}}")
                + process("web", "2", "{matchLabels: {tier: front}}")
                + process("web", "3", "{excludeLabels: {role: web}}");

        assertEquals("""
                here process/web 1
                not process/web 2: placement.matchLabels asks for tier 'front', and this machine has no such label
                not process/web 3: placement.excludeLabels leaves out role 'web', which this machine has
                """, shown(texts, labels()));
        assertEquals(
                """
                set:10:18: metadata.name: process/web is declared twice, first at set:4:18, and both may be for one machine; \
                change the placement of one, or remove it
                """,
                shown(
                        texts,
                        new MachineLabels(ImmutableSortedMap.of("role", "web", "tier", "front"), Optional.empty())));
    }

    /** Nothing is withdrawn because a file can't be read for a moment. */
    @Test
    void whatCantBeToldIsAProblemAndNotAnAnswer() {
        MachineLabels blind =
                new MachineLabels(ImmutableSortedMap.of("role", "web"), Optional.of("/etc/os-release hid"));

        assertEquals(
                """
                set:10:18: placement: whether it is for this machine can't be told: /etc/os-release hid
                """,
                shown(
                        process("web", "1", "{matchLabels: {role: web}}")
                                + process("deb", "1", "{excludeLabels: {os.ID: debian}}"),
                        blind));
    }

    @Test
    void withoutWordOfItsRolloutAMachineKeepsTheOldRevision() {
        String waits =
                "not process/web 2: rollout web-2: it has not begun as far as this machine has heard, so revision '1' stays";
        assertEquals("here process/web 1\n" + waits + "\n", shown(ROLLOUT + TWO_REVISIONS, selection(7)));
        assertEquals(
                "here process/web 1\n" + waits + "\n",
                shown(
                        ROLLOUT + TWO_REVISIONS,
                        selection(7, state(Phase.COMPLETED, 3, Rollout.EVERYBODY, "of another one"))),
                "what was decided for another rollout of that name does not count");
    }

    @Test
    void aMachineTakesTheNewRevisionWhenItIsItsTurn() {
        String place = rollout().place("m-1");

        assertEquals("""
                not process/web 1: rollout web-2: this machine has revision '2'
                here process/web 2
                """, shown(ROLLOUT + TWO_REVISIONS, selection(7, state(Phase.PROGRESSING, 1, place))));
        assertEquals("""
                here process/web 1
                not process/web 2: rollout web-2: wave 2 of 4 (10%) is open (because), and it is not this machine's turn, so revision '1' stays
                """, shown(ROLLOUT + TWO_REVISIONS, selection(7, state(Phase.PROGRESSING, 1, "0"))));
        assertEquals("""
                here process/web 1
                not process/web 2: rollout web-2: wave 1 of 4 (1) is open (because), and this machine came, or got its labels, after that was decided, so revision '1' stays
                """, shown(ROLLOUT + TWO_REVISIONS, selection(11, state(Phase.PROGRESSING, 0, place))));
        assertEquals(
                """
                here process/web 1
                not process/web 2: rollout web-2: no wave is open (because), and this machine is not registered with its labels yet, so revision '1' stays
                """,
                shown(
                        ROLLOUT + TWO_REVISIONS,
                        selection(
                                OptionalLong.empty(),
                                ImmutableMap.of("web-2", state(Phase.PROGRESSING, -1, Rollout.NOBODY)))));
        assertEquals("""
                here process/web 1
                not process/web 2: rollout web-2: it was rolled back (because), so revision '1' stays
                """, shown(ROLLOUT + TWO_REVISIONS, selection(7, state(Phase.ROLLED_BACK, 1, Rollout.NOBODY))));
    }

    /** Else those of a wave that have not come to it yet would go on into what has just been found bad. */
    @Test
    void whileNothingGoesOnAMachineKeepsWhatItHas() {
        String place = rollout().place("m-1");
        for (Phase phase : List.of(Phase.HALTED, Phase.PAUSED, Phase.ABORTED)) {
            SetSelection admitted = selection(7, state(phase, 1, place));
            assertTrue(shown(ROLLOUT + TWO_REVISIONS, admitted).startsWith("here process/web 1\n"), phase::name);
            assertTrue(
                    shown(ROLLOUT + TWO_REVISIONS, having("2", admitted)).endsWith("here process/web 2\n"),
                    phase::name);
        }
        assertEquals("""
                here process/web 1
                not process/web 2: rollout web-2: it has halted at wave 2 of 4 (10%) (because), so revision '1' stays
                """, shown(ROLLOUT + TWO_REVISIONS, selection(7, state(Phase.HALTED, 1, place))));
    }

    /** A store that was lost must not have all machines go back. */
    @Test
    void whereNobodySaysAnythingAMachineKeepsWhatItHas() {
        assertTrue(shown(ROLLOUT + TWO_REVISIONS, having("2", selection(7))).endsWith("here process/web 2\n"));
        SetSelection rolledBack = selection(7, state(Phase.ROLLED_BACK, 1, Rollout.NOBODY));
        assertTrue(shown(ROLLOUT + TWO_REVISIONS, having("2", rolledBack)).startsWith("here process/web 1\n"));
        SetSelection anew = selection(7, state(Phase.PROGRESSING, -1, Rollout.NOBODY));
        assertTrue(shown(ROLLOUT + TWO_REVISIONS, having("2", anew)).endsWith("here process/web 2\n"));
        assertTrue(shown(ROLLOUT + TWO_REVISIONS, having("1", anew)).startsWith("here process/web 1\n"));
    }

    @Test
    void aCompletedRolloutIsForMachinesThatNobodyKnows() {
        assertEquals(
                """
                not process/web 1: rollout web-2: this machine has revision '2'
                here process/web 2
                """,
                shown(
                        ROLLOUT + TWO_REVISIONS,
                        selection(
                                OptionalLong.empty(),
                                ImmutableMap.of("web-2", state(Phase.COMPLETED, 3, Rollout.EVERYBODY)))));
    }

    @Test
    void aRolloutWithoutBothRevisionsIsAProblemOnMachinesToo() {
        assertEquals("""
                set:4:18: no document declares process/web at revision '2'; both revisions have to be in the set
                """, shown(ROLLOUT + process("web", "1", "{}"), selection(7)));
    }

    @Test
    void outsideOfSetsARolloutSaysHowToPublishIt() {
        assertEquals("""
                set:4:18: kind: Rollout is for sets that are published; homeostat publish -f DIR publishes one
                set:15:18: metadata.name: process/web is declared twice, first at set:9:18; remove or rename one
                """, shown(ROLLOUT + TWO_REVISIONS, labels()));
    }

    private static MachineLabels labels() {
        return new MachineLabels(
                ImmutableSortedMap.of("role", "web", "os.ID", "debian", "host.arch", "x86_64"), Optional.empty());
    }

    private static SetSelection having(String revision, SetSelection selection) {
        return new SetSelection(
                selection.labels(),
                selection.instanceId(),
                selection.registeredAt(),
                selection.states(),
                ImmutableMap.of(WorkloadId.process("web"), revision));
    }

    private static SetSelection selection(OptionalLong registeredAt, ImmutableMap<String, RolloutState> states) {
        return new SetSelection(labels(), "m-1", registeredAt, states, ImmutableMap.of());
    }

    private static SetSelection selection(long registeredAt) {
        return selection(OptionalLong.of(registeredAt), ImmutableMap.of());
    }

    private static SetSelection selection(long registeredAt, RolloutState state) {
        return selection(OptionalLong.of(registeredAt), ImmutableMap.of("web-2", state));
    }

    private static RolloutState state(Phase phase, int wave, String through) {
        return state(phase, wave, through, rollout().digest());
    }

    private static RolloutState state(Phase phase, int wave, String through, String digest) {
        return new RolloutState(
                digest, phase, wave, through, 10, 1, Instant.EPOCH, Instant.EPOCH, null, 0, 0, "because");
    }

    private static Rollout rollout() {
        Choice.ReadRollout read =
                read(ROLLOUT + TWO_REVISIONS, Choice.ALL).rollouts().getFirst();
        return Rollout.of(read.name(), read.spec());
    }

    private static String shown(String texts, Choice choice) {
        ReadResult read = read(texts, choice);
        StringBuilder shown = new StringBuilder();
        for (Problem error : read.errors()) {
            shown.append(error).append('\n');
        }
        if (read.valid()) {
            ImmutableSortedMap.Builder<Integer, String> lines = ImmutableSortedMap.naturalOrder();
            read.workloads()
                    .forEach(one -> lines.put(
                            one.line(),
                            "here " + one.workload().id() + " " + one.workload().revision()));
            read.notHere()
                    .forEach(left -> lines.put(
                            left.read().line(),
                            "not " + left.read().workload().id() + " "
                                    + left.read().workload().revision() + ": " + left.reason()));
            lines.buildOrThrow().values().forEach(line -> shown.append(line).append('\n'));
        }
        return shown.toString();
    }

    private static ReadResult read(String texts, Choice choice) {
        return DocumentReader.parse(
                new Texts(ImmutableList.of(new Input.Text("set", "set", null, texts)), ImmutableList.of()), choice);
    }

    private static String process(String name, String revision, String placement) {
        return """
                ---
                apiVersion: homeostat.io/v1
                kind: Process
                metadata: {name: %s}
                placement: %s
                spec: {install: local, revision: "%s", entryPoint: /bin/true}
                """.formatted(name, placement, revision);
    }
}
