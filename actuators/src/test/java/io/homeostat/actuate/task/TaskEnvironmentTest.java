package io.homeostat.actuate.task;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.task.TaskEnvironment.Facts;
import io.homeostat.actuate.task.TaskEnvironment.Port;
import java.nio.file.Path;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class TaskEnvironmentTest {
    private static final String ID = "8e0f7c3c-9f0e-4b6e-a3a5-0d6f4c1f2b7a";
    private static final TaskPlace PLACE = new TaskPlace(Path.of("/state/alloc", ID), "web");
    private static final Facts NOTHING = new Facts(
            "shop",
            "front",
            0,
            "",
            "",
            "",
            OptionalLong.empty(),
            OptionalLong.empty(),
            "",
            ImmutableMap.of(),
            ImmutableList.of());

    @Test
    void aTaskIsToldWhatItIsAndWhatItHas() {
        Facts facts = new Facts(
                "shop",
                "front",
                2,
                "dc1",
                "global",
                "default",
                OptionalLong.of(256),
                OptionalLong.of(500),
                "2-3",
                ImmutableMap.of("build-no", "7", "empty", ""),
                ImmutableList.of(new Port("http", "10.0.0.5", 80, 24_680), new Port("admin-ui", "fe80::1", 81, 81)));

        assertEquals(
                ImmutableSortedMap.<String, String>naturalOrder()
                        .put("NOMAD_ALLOC_DIR", "/state/alloc/" + ID + "/alloc")
                        .put("NOMAD_TASK_DIR", "/state/alloc/" + ID + "/web/local")
                        .put("NOMAD_SECRETS_DIR", "/state/alloc/" + ID + "/web/secrets")
                        .put("NOMAD_ALLOC_ID", ID)
                        .put("NOMAD_SHORT_ALLOC_ID", "8e0f7c3c")
                        .put("NOMAD_ALLOC_NAME", "shop.front[2]")
                        .put("NOMAD_ALLOC_INDEX", "2")
                        .put("NOMAD_TASK_NAME", "web")
                        .put("NOMAD_GROUP_NAME", "front")
                        .put("NOMAD_JOB_ID", "shop")
                        .put("NOMAD_JOB_NAME", "shop")
                        .put("NOMAD_DC", "dc1")
                        .put("NOMAD_REGION", "global")
                        .put("NOMAD_NAMESPACE", "default")
                        .put("NOMAD_MEMORY_LIMIT", "256")
                        .put("NOMAD_CPU_LIMIT", "500")
                        .put("NOMAD_CPU_CORES", "2-3")
                        .put("NOMAD_META_build_no", "7")
                        .put("NOMAD_META_BUILD_NO", "7")
                        .put("NOMAD_META_empty", "")
                        .put("NOMAD_META_EMPTY", "")
                        .put("NOMAD_PORT_http", "80")
                        .put("NOMAD_HOST_PORT_http", "24680")
                        .put("NOMAD_IP_http", "10.0.0.5")
                        .put("NOMAD_ADDR_http", "10.0.0.5:24680")
                        .put("NOMAD_PORT_admin_ui", "81")
                        .put("NOMAD_HOST_PORT_admin_ui", "81")
                        .put("NOMAD_IP_admin_ui", "fe80::1")
                        .put("NOMAD_ADDR_admin_ui", "[fe80::1]:81")
                        .buildOrThrow(),
                TaskEnvironment.of(PLACE, Isolation.NONE, facts));
    }

    @ParameterizedTest
    @EnumSource(names = {"CHROOT", "IMAGE"})
    void inARootOfItsOwnATaskSeesItsDirectoriesAtTheTop(Isolation isolation) {
        assertEquals(
                ImmutableList.of("/alloc", "/local", "/secrets"),
                directories(TaskEnvironment.of(PLACE, isolation, NOTHING)));
    }

    @Test
    void whatIsRevealedIsWhereItIsMounted() {
        String seen = "/state/alloc/" + ID + "/.mounts/" + ID + "-web";
        assertEquals(
                ImmutableList.of(seen + "/alloc", seen + "/local", seen + "/secrets"),
                directories(TaskEnvironment.of(PLACE, Isolation.UNVEIL, NOTHING)));
    }

    @Test
    void whatIsNotKnownIsLeftOut() {
        ImmutableSortedMap<String, String> variables = TaskEnvironment.of(PLACE, Isolation.NONE, NOTHING);
        for (String unknown : new String[] {"DC", "REGION", "NAMESPACE", "MEMORY_LIMIT", "CPU_LIMIT"}) {
            assertFalse(variables.containsKey("NOMAD_" + unknown), unknown);
        }
        assertEquals(ID, variables.get("NOMAD_ALLOC_ID"));
    }

    @Test
    void aShortIdOfAnAllocationIsLeftAsItIs() {
        TaskPlace place = new TaskPlace(Path.of("/state/abc"), "web");
        assertEquals("abc", TaskEnvironment.of(place, Isolation.NONE, NOTHING).get("NOMAD_SHORT_ALLOC_ID"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"alloc", "..", ".staging-web", "a/b", ""})
    void aTaskThatWouldBeInTheWayOfOurDirectoriesIsRefused(String task) {
        assertThrows(IllegalArgumentException.class, () -> new TaskPlace(Path.of("/state/alloc", ID), task));
    }

    @Test
    void anAllocationIsAtAnAbsolutePath() {
        assertThrows(IllegalArgumentException.class, () -> new TaskPlace(Path.of("alloc", ID), "web"));
    }

    private static ImmutableList<String> directories(ImmutableSortedMap<String, String> variables) {
        return ImmutableList.of(
                String.valueOf(variables.get("NOMAD_ALLOC_DIR")),
                String.valueOf(variables.get("NOMAD_TASK_DIR")),
                String.valueOf(variables.get("NOMAD_SECRETS_DIR")));
    }
}
