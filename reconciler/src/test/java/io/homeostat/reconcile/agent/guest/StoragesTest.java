package io.homeostat.reconcile.agent.guest;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.homeostat.proto.kata.Storage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StoragesTest extends GuestTestBed {
    private Storages storages;
    private Path point;

    @BeforeEach
    void prepare() throws IOException {
        Files.createDirectories(guest.paths.root());
        storages = new Storages(guest.paths, guest.system);
        point = guest.paths.root().resolve("point");
    }

    private Storage.Builder storage(String driver) {
        return Storage.newBuilder().setDriver(driver).setMountPoint(point.toString());
    }

    private ImmutableList<Path> mount(Storage.Builder... wanted) throws IOException, InterruptedException {
        return storages.mount(
                java.util.Arrays.stream(wanted).map(Storage.Builder::build).toList());
    }

    private List<String> noted() throws IOException {
        Path notes = guest.paths.root().resolve("mounts");
        return Files.exists(notes) ? Files.readAllLines(notes) : List.of();
    }

    @ParameterizedTest
    @CsvSource({"ephemeral, tmpfs", "virtio-fs, virtiofs", "9p, 9p", "overlayfs, overlay"})
    void eachDriverHasAFileSystemOfItsOwn(String driver, String type) throws IOException, InterruptedException {
        assertEquals(List.of(point), mount(storage(driver)));

        assertEquals(List.of("mount -t " + type + " -o defaults -- " + type + " " + point), guest.commands.lines());
        assertTrue(Files.isDirectory(point));
        assertEquals(List.of(point.toString()), noted());
    }

    @Test
    void typeSourceAndOptionsOfTheCallerAreUsed() throws IOException, InterruptedException {
        mount(storage("virtio-fs").setFstype("ext4").setSource("shared").addAllOptions(List.of("ro", "noexec")));

        assertEquals(List.of("mount -t ext4 -o ro,noexec -- shared " + point), guest.commands.lines());
    }

    @Test
    void aPathOfTheAgentIsAPathOfOursAsASource() throws IOException, InterruptedException {
        mount(storage("bind").setSource("/run/kata-containers/shared/x").setFstype("ext4"));

        assertEquals(
                List.of("mount -t none -o bind -- " + guest.paths.real("/run/kata-containers/shared/x") + " " + point),
                guest.commands.lines());
    }

    @Test
    void aRecursiveBindStaysOne() throws IOException, InterruptedException {
        mount(storage("bind").setSource("/srv").addOptions("rbind"));

        assertEquals(List.of("mount -t none -o rbind -- /srv " + point), guest.commands.lines());
    }

    @Test
    void aLocalStorageIsADirectoryAndNoMount() throws IOException, InterruptedException {
        assertEquals(List.of(), mount(storage("local")));

        assertTrue(Files.isDirectory(point));
        assertEquals(List.of(), guest.commands.lines());
        assertEquals(List.of(), noted());
    }

    @Test
    void whatIsMountedIsNotMountedAgainAndNotOurs() throws IOException, InterruptedException {
        Files.createDirectory(point);
        guest.mounted(point);

        assertEquals(List.of(), mount(storage("ephemeral")));

        assertEquals(List.of(), guest.commands.lines());
        assertEquals(List.of(), noted());
    }

    @Test
    void anUnknownDriverIsRefusedBeforeAnythingIsMounted() {
        StatusRuntimeException refused =
                assertThrows(StatusRuntimeException.class, () -> mount(storage("ephemeral"), storage("blk")));

        assertEquals(Status.Code.UNIMPLEMENTED, refused.getStatus().getCode());
        assertEquals(List.of(), guest.commands.lines());
        assertFalse(Files.exists(point));
    }

    @ParameterizedTest
    @CsvSource(
            value = {"relative/path", "''", "'/two\nlines'"},
            nullValues = "null")
    void aMountPointIsAnAbsolutePathOfOneLine(String path) {
        StatusRuntimeException refused = assertThrows(
                StatusRuntimeException.class,
                () -> mount(Storage.newBuilder().setDriver("local").setMountPoint(path)));

        assertEquals(Status.Code.INTERNAL, refused.getStatus().getCode());
    }

    @Test
    void eitherAllIsMountedOrNothing() throws IOException {
        Path second = guest.paths.root().resolve("second");
        guest.commands.failNext("-- tmpfs " + second, "no memory");

        assertThrows(
                IOException.class,
                () -> mount(storage("ephemeral"), storage("ephemeral").setMountPoint(second.toString())));

        assertEquals(List.of(), guest.mounts());
        assertEquals(List.of(), noted(), "whatever is mounted there later is not ours");
    }

    @Test
    void aMountIsNotedBeforeItIsMade() throws IOException {
        guest.commands.replaceNext("mount", command -> {
            assertEquals(List.of(point.toString()), noted());
            throw new IOException("killed now");
        });

        assertThrows(IOException.class, () -> mount(storage("ephemeral")));
        assertEquals(1, guest.commands.lines().size());
    }

    @Test
    void unmountingTakesEachMountAtThePlaceAndItsNote() throws IOException, InterruptedException {
        mount(storage("ephemeral"));
        guest.mounted(point);
        guest.commands.forgetLines();

        storages.unmount(point);

        String line = "umount --lazy -- " + point;
        assertEquals(List.of(line, line), guest.commands.lines());
        assertEquals(List.of(), guest.mounts());
        assertEquals(List.of(), noted());
    }

    @Test
    void unmountingWhatIsNotThereDoesNothing() throws IOException, InterruptedException {
        storages.unmount(point);

        assertEquals(List.of(), guest.commands.lines());
    }

    @Test
    void aMountThatStaysIsAFailureAndStaysNoted() throws IOException, InterruptedException {
        mount(storage("ephemeral"));
        guest.commands.failNext("umount", "target is busy");

        assertThrows(IOException.class, () -> storages.unmount(point));
        assertEquals(List.of(point.toString()), noted());
    }

    @Test
    void storagesAreUnmountedInReverseOrder() throws IOException, InterruptedException {
        Path inner = point.resolve("inner");
        List<Storage> both = List.of(
                storage("ephemeral").build(),
                storage("ephemeral").setMountPoint(inner.toString()).build());
        assertEquals(List.of(point, inner), storages.mount(both));
        guest.commands.forgetLines();

        storages.unmount(both, List.of());

        assertEquals(List.of("umount --lazy -- " + inner, "umount --lazy -- " + point), guest.commands.lines());
    }

    @Test
    void whatOthersUseOrHaveMountedStays() throws IOException, InterruptedException {
        Path foreign = Files.createDirectory(guest.paths.root().resolve("foreign"));
        guest.mounted(foreign);
        Storage used = storage("ephemeral").build();
        Storage others = storage("ephemeral").setMountPoint(foreign.toString()).build();
        Storage gone = storage("ephemeral").setMountPoint(point + "-gone").build();
        assertEquals(List.of(point), storages.mount(List.of(used, others)));

        storages.unmount(List.of(used, others, gone), List.of(used));
        assertEquals(List.of(foreign.toString(), point.toString()), guest.mounts());

        storages.unmount(List.of(used, others, gone), List.of());
        assertEquals(List.of(foreign.toString()), guest.mounts());
    }

    @Test
    void undoingUnmountsTheLastOneFirst() throws IOException, InterruptedException {
        Path other = Files.createDirectory(guest.paths.root().resolve("other"));
        Files.createDirectory(point);
        guest.mounted(point);
        guest.mounted(other);

        storages.undo(ImmutableList.of(point, other));

        assertEquals(List.of("umount --lazy -- " + other, "umount --lazy -- " + point), guest.commands.lines());
    }

    @Test
    void nothingIsDeletedAboveAMount() throws IOException, InterruptedException {
        Path below = Files.createDirectories(point.resolve("a b").resolve("back\\slash"));
        guest.mounted(below);

        assertThrows(IOException.class, () -> storages.requireNothingMounted(point));
        assertDoesNotThrow(
                () -> storages.requireNothingMounted(guest.paths.root().resolve("poi")));
        storages.unmountBelow(point);
        assertDoesNotThrow(() -> storages.requireNothingMounted(point));
    }

    @Test
    void belowADirectoryTheLastMountGoesFirstAndOthersStay() throws IOException, InterruptedException {
        Path outside = Files.createDirectory(guest.paths.root().resolve("outside"));
        Path inner = Files.createDirectories(point.resolve("inner"));
        for (Path one : List.of(point, outside, inner)) {
            guest.mounted(one);
        }

        storages.unmountBelow(point);

        assertEquals(List.of(outside.toString()), guest.mounts());
        assertEquals(List.of("umount --lazy -- " + inner, "umount --lazy -- " + point), guest.commands.lines());
    }

    @Test
    void aFileIsBoundOverAnother() throws IOException, InterruptedException {
        Path file = Files.createFile(guest.paths.root().resolve("file"));
        Path over = Files.createFile(guest.paths.root().resolve("over"));

        storages.bind(file, over);

        assertEquals(List.of("mount --bind -- " + file + " " + over), guest.commands.lines());
    }

    @Test
    void theDriversAreReported() {
        assertEquals(Set.of("ephemeral", "virtio-fs", "9p", "overlayfs", "bind", "local"), Storages.drivers());
    }
}
