package io.homeostat.reconcile.fleet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import com.google.protobuf.ByteString;
import io.homeostat.desired.fleet.SetReader;
import io.homeostat.desired.model.AgentConfig;
import io.homeostat.desired.signature.TrustedKeys;
import io.homeostat.reconcile.fleet.FleetMirror.Scope;
import org.junit.jupiter.api.Test;

class PublishedRolloutsTest {
    static final String SET = """
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: web}
            placement: {matchLabels: {role: web}}
            spec: {install: local, revision: "1", entryPoint: /bin/true}
            ---
            apiVersion: homeostat.io/v1
            kind: Process
            metadata: {name: web}
            placement: {matchLabels: {role: web}}
            spec: {install: local, revision: "2", entryPoint: /bin/true}
            ---
            apiVersion: homeostat.io/v1
            kind: Rollout
            metadata: {name: web-2}
            spec: {workloads: [process/web], from: "1", to: "2"}
            """;

    @Test
    void aRolloutIsForMachinesThatItsNewRevisionIsFor() {
        Scope scope = read(false, SET).getFirst();

        assertEquals("web-2", scope.rollout().name());
        assertTrue(scope.isFor().test(ImmutableSortedMap.of("role", "web")));
        assertFalse(scope.isFor().test(ImmutableSortedMap.of("role", "db")));
    }

    @Test
    void whatMachinesWouldRefuseIsRefused() {
        IllegalArgumentException unsigned = assertThrows(IllegalArgumentException.class, () -> read(true, SET));
        assertTrue(String.valueOf(unsigned.getMessage()).contains("sign"), unsigned::getMessage);

        IllegalArgumentException invalid =
                assertThrows(IllegalArgumentException.class, () -> read(false, SET.replace("to: \"2\"", "to: \"3\"")));
        assertTrue(String.valueOf(invalid.getMessage()).contains("set.yaml:"), invalid::getMessage);
    }

    private static ImmutableList<Scope> read(boolean required, String set) {
        AgentConfig.SignedSets rules = new AgentConfig.SignedSets(required, ImmutableList.of(), "default");
        return new PublishedRollouts(new SetReader(rules, TrustedKeys.NONE)).rollouts(ByteString.copyFromUtf8(set));
    }
}
