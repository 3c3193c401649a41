package io.homeostat.actuate.limits;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.Lifecycle.Limits;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.desired.model.schema.Cpu;
import io.homeostat.desired.model.schema.Size;
import io.homeostat.observe.limits.CgroupLayout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GroupRemoverTest {
    private static final WorkloadId ID = WorkloadId.plugin("ops-agent");
    private static final Limits SOME = new Limits(new Size(256L << 20), new Cpu(20), false);

    @TempDir
    Path temp;

    @Test
    void groupsAreRemovedWithThoseBelowAndOnlyWhenEmpty() throws Exception {
        FakeControlGroups kernel = kernel("cpu memory");
        GroupRemover remover = new GroupRemover(layout(kernel), kernel);
        new LimitEnforcer(layout(kernel), kernel).prepare(ID, SOME);
        Path group = kernel.root.resolve("homeostat.slice/plugin-ops-agent");
        kernel.makeGroup(group.resolve("payload"));
        kernel.makeGroup(group.resolve("payload/inner"));
        kernel.run(group, 4711);

        ActuationFailure failure = assertThrows(ActuationFailure.class, () -> remover.remove(ID));
        assertTrue(String.valueOf(failure.getMessage()).contains("4711"), failure.getMessage());
        assertFalse(failure.fatal());

        kernel.run(kernel.root, 4711);
        Path keepers = kernel.root.resolve("homeostat.slice/keepers");
        kernel.run(keepers, 4712);
        remover.remove(ID);
        assertFalse(Files.exists(group));
        assertTrue(Files.exists(keepers), "somebody else's keeper is in it");
        kernel.run(kernel.root, 4712);
        remover.remove(ID);
        assertFalse(Files.exists(kernel.root.resolve("homeostat.slice")));
    }

    @Test
    void theGroupOfKeepersStaysForOneThatIsAboutToEnterIt() throws Exception {
        FakeControlGroups kernel = kernel("cpu memory");
        LimitEnforcer enforcer = new LimitEnforcer(layout(kernel), kernel);
        GroupRemover remover = new GroupRemover(layout(kernel), kernel);
        enforcer.prepare(ID, SOME);
        enforcer.prepare(WorkloadId.process("next"), SOME);
        Path home = kernel.root.resolve("homeostat.slice");

        remover.remove(ID);
        assertFalse(Files.exists(home.resolve("plugin-ops-agent")));
        assertTrue(Files.exists(home.resolve("keepers")));

        remover.remove(WorkloadId.process("next"));
        assertFalse(Files.exists(home));
    }

    @Test
    void groupsOfWorkloadsThatNobodyKnowsAreSweptAwayUnlessSomebodyIsInThem() throws IOException {
        FakeControlGroups kernel = kernel("cpu memory");
        LimitEnforcer enforcer = new LimitEnforcer(layout(kernel), kernel);
        GroupRemover remover = new GroupRemover(layout(kernel), kernel);
        WorkloadId known = WorkloadId.plugin("known");
        WorkloadId occupied = WorkloadId.process("occupied");
        for (WorkloadId id : new WorkloadId[] {ID, known, occupied}) {
            enforcer.prepare(id, SOME);
        }
        Path home = kernel.root.resolve("homeostat.slice");
        kernel.run(home.resolve("process-occupied"), 7);
        Path foreign = made(kernel, home.resolve("somebody-else"));
        Path empty = made(kernel, kernel.root.resolve("homeostat-0123abcd.slice"));
        Path ofAnother = made(kernel, kernel.root.resolve("homeostat-0123abce.slice"));
        Path workload = made(kernel, ofAnother.resolve("plugin-ops-agent"));
        Path noneOfUs = made(kernel, kernel.root.resolve("homeostat-web.slice"));

        remover.sweep(Set.of(known), Files.getLastModifiedTime(empty).toInstant());
        assertTrue(Files.exists(empty), "somebody may just have made it");
        remover.sweep(Set.of(known), Instant.now().plusSeconds(3600));

        assertFalse(Files.exists(home.resolve("plugin-ops-agent")));
        assertFalse(Files.exists(empty), "the empty place of another of us");
        for (Path kept :
                new Path[] {home.resolve("plugin-known"), home.resolve("process-occupied"), foreign, workload, noneOfUs
                }) {
            assertTrue(Files.exists(kept), kept.toString());
        }
    }

    private static Path made(FakeControlGroups kernel, Path group) throws IOException {
        kernel.makeGroup(group);
        return group;
    }

    private FakeControlGroups kernel(String controllers) throws IOException {
        return new FakeControlGroups(temp.resolve("cgroup"), controllers);
    }

    private CgroupLayout layout(FakeControlGroups kernel) throws IOException {
        Path self = Files.createDirectories(temp.resolve("proc/self"));
        Files.writeString(self.resolve("cgroup"), "0::/\n");
        return CgroupLayout.detect(kernel.root, temp.resolve("proc"), "homeostat");
    }
}
