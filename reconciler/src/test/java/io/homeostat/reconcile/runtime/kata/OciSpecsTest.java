package io.homeostat.reconcile.runtime.kata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.model.ContainerSpec;
import io.homeostat.proto.kata.CreateContainerRequest;
import io.homeostat.proto.kata.LinuxResources;
import io.homeostat.proto.kata.Mount;
import io.homeostat.proto.kata.Process;
import io.homeostat.reconcile.Written;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What an agent is asked for: nothing that would leave it without an answer, and no more than is declared. */
class OciSpecsTest {
    private static CreateContainerRequest request(String spec, boolean sharesPids) {
        ContainerSpec container =
                (ContainerSpec) Written.workload("""
                apiVersion: homeostat.io/v1
                kind: Container
                metadata: {name: app}
                spec:
                """ + spec.indent(2)).spec();
        return OciSpecs.request("c-1", container, "/rootfs", sharesPids);
    }

    @Test
    void theSmallestHasEverythingThatAgentsInsistOn() {
        CreateContainerRequest request =
                request("{sandbox: guest, rootfs: {path: /rootfs}, command: [serve, now]}", false);

        Process process = request.getOCI().getProcess();
        assertTrue(process.hasCapabilities(), "without it CreateContainer is refused");
        assertEquals(List.of(), process.getCapabilities().getBoundingList());
        assertEquals(List.of("serve", "now"), process.getArgsList());
        assertEquals("/", process.getCwd());
        assertEquals(65_534, process.getUser().getUID());
        assertEquals(65_534, process.getUser().getGID());
        assertTrue(process.getNoNewPrivileges());
        assertTrue(process.getEnv(0).startsWith("PATH="));
        assertEquals("c-1", request.getContainerId());
        assertEquals("c-1", request.getExecId());
        assertFalse(request.getSandboxPidns());
        assertEquals(
                List.of("mount", "ipc", "uts"),
                request.getOCI().getLinux().getNamespacesList().stream()
                        .map(one -> one.getType())
                        .toList());
        assertEquals(
                List.of("/proc", "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/sys"),
                request.getOCI().getMountsList().stream()
                        .map(Mount::getDestination)
                        .toList());
        assertTrue(request.getOCI().getLinux().getReadonlyPathsList().contains("/proc/sys"));
        assertEquals(
                LinuxResources.getDefaultInstance(), request.getOCI().getLinux().getResources());
        assertTrue(request.getOCI().getLinux().hasResources());
    }

    @Test
    void whatIsDeclaredIsAskedForInTheAgentsWords() {
        CreateContainerRequest request = request("""
                sandbox: guest
                rootfs: {storage: {driver: blk, source: vdb, fstype: ext4, mountPoint: /run/r, options: [ro]}, readonly: true}
                command: [serve]
                env: {PATH: /bin, A: b}
                user: {uid: 4294967294, gid: 5, additionalGids: [6]}
                terminal: true
                capabilities: [KILL, CAP_NET_ADMIN]
                mounts: [{destination: /data, source: /run/data}, {destination: /a, source: /b, options: [bind, ro]},
                  {destination: /tmp, type: tmpfs, options: [size=1m]}]
                devices: [{path: /dev/x, type: u, major: 1, minor: 3}, {path: /dev/fifo, type: p}]
                sysctl: {net.core.somaxconn: "1024"}
                limits: {memory: 64Mi, cpu: 150%, pids: 20}
                """, true);

        assertTrue(request.getSandboxPidns());
        assertEquals("/rootfs", request.getOCI().getRoot().getPath());
        assertEquals("/run/r", request.getStorages(0).getMountPoint());
        assertTrue(request.getOCI().getRoot().getReadonly());
        assertEquals("blk", request.getStorages(0).getDriver());
        Process process = request.getOCI().getProcess();
        assertEquals(List.of("A=b", "PATH=/bin"), process.getEnvList());
        assertEquals(-2, process.getUser().getUID(), "as an unsigned number of 32 bits");
        assertEquals(List.of(6), process.getUser().getAdditionalGidsList());
        assertTrue(process.getTerminal());
        for (List<String> set : List.<List<String>>of(
                process.getCapabilities().getBoundingList(),
                process.getCapabilities().getEffectiveList(),
                process.getCapabilities().getInheritableList(),
                process.getCapabilities().getPermittedList(),
                process.getCapabilities().getAmbientList())) {
            assertEquals(List.of("CAP_KILL", "CAP_NET_ADMIN"), set);
        }
        Mount bind = request.getOCI().getMounts(6);
        assertEquals("bind", bind.getType());
        assertEquals(List.of("rbind"), bind.getOptionsList(), "by which alone an agent knows it");
        assertEquals(List.of("bind", "ro"), request.getOCI().getMounts(7).getOptionsList());
        assertEquals("tmpfs", request.getOCI().getMounts(8).getSource());
        assertEquals(List.of("size=1m"), request.getOCI().getMounts(8).getOptionsList());
        assertEquals("c", request.getOCI().getLinux().getDevices(0).getType(), "no agent takes a u");
        assertEquals("1024", request.getOCI().getLinux().getSysctlOrThrow("net.core.somaxconn"));
        LinuxResources resources = request.getOCI().getLinux().getResources();
        assertEquals(64 << 20, resources.getMemory().getLimit());
        assertEquals(150_000, resources.getCPU().getQuota());
        assertEquals(100_000, resources.getCPU().getPeriod());
        assertEquals(20, resources.getPids().getLimit());
        assertEquals(1, resources.getDevicesCount(), "a named pipe needs no leave");
        assertEquals("c", resources.getDevices(0).getType());
        assertEquals(2, request.getOCI().getLinux().getDevicesCount());
    }
}
