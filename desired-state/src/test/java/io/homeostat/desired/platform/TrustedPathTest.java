package io.homeostat.desired.platform;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableSet;
import io.homeostat.desired.platform.TrustedPath.Entry;
import io.homeostat.desired.platform.TrustedPath.Machine;
import io.homeostat.desired.platform.TrustedPath.Objection;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrustedPathTest {
    private static final Path FILE = Path.of("/etc/homeostat/desired.d/web.yaml");
    private static final long DISK = 1;
    private static final long USER_SPACE = 2;

    private final Map<Path, Entry> entries = new HashMap<>();
    private final Map<Path, String> groups = new HashMap<>();
    private final Map<Long, Long> mounters = new HashMap<>();
    private final Map<Path, IOException> failures = new HashMap<>();
    private final Set<Path> accessLists = new HashSet<>();
    private final Set<String> readOnly = new HashSet<>();
    private final Set<String> groupsOfOne = new HashSet<>(Set.of("root", "agent"));
    private final Machine machine = new Machine() {
        @Override
        public Entry look(Path path) throws IOException {
            if (failures.containsKey(path)) {
                throw failures.get(path);
            }
            Entry entry = entries.get(path);
            if (entry == null) {
                throw new NoSuchFileException(path.toString());
            }
            return entry;
        }

        @Override
        public String owner(Path path) throws IOException {
            return "user-" + look(path).uid();
        }

        @Override
        public String group(Path path) {
            return groups.getOrDefault(path, "group");
        }

        @Override
        public boolean isReadOnly(Path path) {
            return readOnly.stream().anyMatch(path.toString()::startsWith);
        }

        @Override
        public Optional<Long> mounter(long device) {
            return Optional.ofNullable(mounters.get(device));
        }

        @Override
        public boolean isOfOneUser(String group) {
            return groupsOfOne.contains(group);
        }

        @Override
        public boolean mayHaveAccessList(Path path) {
            return accessLists.contains(path);
        }
    };

    @BeforeEach
    void allBelongsToRoot() {
        put("/", 0, 0755);
        put("/etc", 0, 0755);
        put("/etc/homeostat", 0, 0755);
        put("/etc/homeostat/desired.d", 0, 0755);
        put(FILE.toString(), 0, 0644);
        put("/tmp", 0, 01777);
        put("/home", 0, 0755);
        put("/home/alice", 1000, 0755);
        put("/home/alice/web.yaml", 0, 0644);
    }

    @Test
    void whatOnlyRootAndTheAgentCanChangeIsTrusted() {
        assertTrusted(FILE);

        put(FILE.toString(), 500, 0600);
        put("/etc/homeostat", 500, 0700);
        assertTrusted(FILE);
        assertTrusted(Path.of("/etc/missing"));
    }

    @Test
    void whatBelongsToAnotherIsNot() {
        put(FILE.toString(), 1000, 0644);
        assertEquals(
                Optional.of(new Objection(
                        FILE,
                        FILE + " belongs to user-1000",
                        "look at what is in it, then chown root " + FILE,
                        "user-1000")),
                trusted().objection(FILE));
    }

    /** A program of that user says whose it is, and whether it can be written to. */
    @Test
    void whatIsOnAFileSystemOfAnotherUserIsNotWhateverItShows() {
        entries.put(Path.of("/etc/homeostat/desired.d"), new Entry(0, 0755, null, USER_SPACE));
        entries.put(FILE, new Entry(0, 0644, null, USER_SPACE));
        mounters.put(USER_SPACE, 1000L);
        readOnly.add("/etc/homeostat/desired.d");
        assertObjection("/etc/homeostat/desired.d", FILE);

        mounters.put(USER_SPACE, 500L);
        assertTrusted(FILE);
    }

    /** To give root the home of somebody, or what somebody has planted, would be worse. */
    @Test
    void theRemedyHarmsNobody() {
        assertEquals("move it below a directory that nobody else can change", remedy("/home/alice/web.yaml"));
        put("/srv", 0, 0777);
        put("/srv/web.yaml", 0, 0666);
        assertEquals(
                "chmod go-w /srv, or move it below a directory that nobody else can change", remedy("/srv/web.yaml"));
        put("/srv", 0, 0755);
        assertEquals("look at what is in it, then chmod go-w /srv/web.yaml", remedy("/srv/web.yaml"));
        link("/tmp/link", 1000, FILE.toString());
        assertEquals("see where it leads, then chown -h root /tmp/link", remedy("/tmp/link"));
        assertEquals("name a path below a directory that nobody else can change", remedy("/tmp/gone"));
    }

    @Test
    void whoCouldBeNamedAsOneWhoMayChangeItIsSaid() {
        assertEquals(Optional.of("user-1000"), writer("/home/alice/web.yaml"));
        put("/srv", 0, 0777);
        assertEquals(Optional.empty(), writer("/srv/web.yaml"));
        put("/srv", 0, 0775, "staff");
        assertEquals(Optional.empty(), writer("/srv/web.yaml"), "it has several members");
        groupsOfOne.add("staff");
        assertEquals(Optional.of("staff"), writer("/srv/web.yaml"));
        accessLists.add(Path.of("/srv"));
        assertEquals(Optional.empty(), writer("/srv/web.yaml"));
        assertEquals(Optional.empty(), writer("/tmp/gone"));
    }

    private String remedy(String path) {
        return trusted().objection(Path.of(path)).orElseThrow().remedy();
    }

    private Optional<String> writer(String path) {
        return Optional.ofNullable(
                trusted().objection(Path.of(path)).orElseThrow().writer());
    }

    @Test
    void everyDirectoryOnTheWayCounts() {
        put("/etc/homeostat", 1000, 0755);
        assertObjection("/etc/homeostat", FILE);

        put("/etc/homeostat", 0, 0777);
        assertObjection("/etc/homeostat", FILE);

        put("/etc/homeostat", 0, 0775, "staff");
        assertObjection("/etc/homeostat", FILE);
    }

    @Test
    void whatOthersMayWriteToIsNotTrusted() {
        put(FILE.toString(), 0, 0646);
        assertObjection(FILE.toString(), FILE);

        put(FILE.toString(), 0, 0664, "staff");
        assertObjection(FILE.toString(), FILE);
    }

    @Test
    void aGroupOfWhichOnlyThatUserIsAMemberIsNoOther() {
        put(FILE.toString(), 0, 0664, "root");
        assertTrusted(FILE);

        accessLists.add(FILE);
        assertObjection(FILE.toString(), FILE);
        put(FILE.toString(), 0, 0644, "root");
        assertTrusted(FILE);
        accessLists.clear();
        put(FILE.toString(), 0, 0664, "root");

        groupsOfOne.remove("root");
        assertObjection(FILE.toString(), FILE);

        groupsOfOne.add("alice");
        put(FILE.toString(), 0, 0664, "alice");
        assertObjection(FILE.toString(), FILE);
    }

    @ParameterizedTest
    @CsvSource({
        "alice, alice:x:1000:, true",
        "alice, alice:x:1000:alice, true",
        "alice, 'alice:x:1000:alice,bob', false",
        "app, app:x:2000:, false",
        "staff, alice:x:1000:, false",
        "3000, alice:x:1000:, true",
        "2000, alice:x:1000:, false",
        "1000, staff:x:50:, true",
    })
    void aGroupIsOfOneUserWhenNobodyElseIsInIt(String group, String groups, boolean isOne) {
        assertEquals(
                isOne,
                TrustedPath.isOfOneUser(
                        group, List.of("", groups), List.of("", "alice:x:1000:1000:", "bob:x:1001:2000:")));
    }

    @Test
    void inADirectoryWithTheStickyBitOursStaysOurs() {
        put("/tmp/ours", 0, 0700);
        put("/tmp/theirs", 1000, 0755);

        assertTrusted(Path.of("/tmp/ours"));
        assertObjection("/tmp/theirs", Path.of("/tmp/theirs"));
        assertObjection("/tmp", Path.of("/tmp"));
    }

    /** Who may write to a socket may connect to it, and no more. */
    @Test
    void whoseASocketIsMattersOnlyWhereTheyCouldReplaceIt() {
        put("/run", 0, 0755);
        put("/run/s", 1000, 0777);
        assertEquals(Optional.empty(), placeOfConnecting("/run/s"));
        put("/tmp/s", 0, 0777);
        assertEquals(Optional.empty(), placeOfConnecting("/tmp/s"));

        put("/tmp/s", 1000, 0777);
        assertEquals(Optional.of(Path.of("/tmp/s")), placeOfConnecting("/tmp/s"));
        put("/home/alice/s", 0, 0777);
        assertEquals(Optional.of(Path.of("/home/alice")), placeOfConnecting("/home/alice/s"));
    }

    private Optional<Path> placeOfConnecting(String socket) {
        return new TrustedPath(machine, ImmutableSet.of(0L), ImmutableSet.of())
                .objectionToConnecting(Path.of(socket))
                .map(Objection::place);
    }

    @Test
    void aLinkIsFollowedToWhatItLeadsTo() {
        link("/etc/link", 0, "/home/alice/web.yaml");
        assertObjection("/home/alice", Path.of("/etc/link"));

        link("/etc/link", 0, "homeostat/../homeostat/desired.d");
        assertTrusted(Path.of("/etc/link/web.yaml"));

        link("/tmp/link", 1000, FILE.toString());
        assertObjection("/tmp/link", Path.of("/tmp/link"));
    }

    @Test
    void whatSomebodyElseCanTakeAwayForAMomentIsNotTrusted() {
        assertObjection("/home/alice", Path.of("/home/alice/gone"));
        assertObjection("/home/alice", Path.of("/home/alice/gone/web.yaml"));
        link("/etc/link", 0, "/home/alice/gone/web.yaml");
        assertObjection("/home/alice", Path.of("/etc/link"));

        put("/srv", 0, 0777);
        assertObjection("/srv", Path.of("/srv/gone"));
        assertEquals(
                Optional.of(Path.of("/srv")),
                trusted().objectionToMaking(Path.of("/srv/gone")).map(Objection::place));
    }

    @Test
    void whatAnybodyCanMakeInADirectoryWithTheStickyBitIsSeenOnceItIsMade() {
        Path missing = Path.of("/tmp/gone/web.yaml");
        assertObjection("/tmp", missing);
        assertEquals(Optional.empty(), trusted().objectionToMaking(missing));

        put("/tmp/gone", 1000, 0755);
        assertEquals(
                Optional.of(Path.of("/tmp/gone")),
                trusted().objectionToMaking(missing).map(Objection::place));
        put("/home/alice", 1000, 01777);
        assertEquals(
                Optional.of(Path.of("/home/alice")),
                trusted().objectionToMaking(Path.of("/home/alice/gone")).map(Objection::place));
    }

    @Test
    void whatCannotBeLookedAtIsNotTrusted() {
        link("/etc/loop", 0, "loop");
        assertObjection("/etc/loop", Path.of("/etc/loop"));

        Path denied = Path.of("/etc/denied");
        failures.put(denied, new AccessDeniedException(denied.toString()));
        assertObjection("/etc/denied/web.yaml", Path.of("/etc/denied/web.yaml"));
        link("/tmp/link", 0, "/etc/denied");
        assertObjection("/tmp/link", Path.of("/tmp/link"));
    }

    @Test
    void whoIsNamedMayChangeItToo() {
        put("/home/alice/web.yaml", 1000, 0664, "user-1000");
        Path file = Path.of("/home/alice/web.yaml");
        assertObjection("/home/alice", file);

        groupsOfOne.add("user-1000");
        assertEquals(
                Optional.empty(),
                new TrustedPath(machine, ImmutableSet.of(0L), ImmutableSet.of("user-1000")).objection(file));
    }

    @Test
    void whatIsMountedReadOnlyIsAsItIs() {
        put("/etc/homeostat/desired.d", 0, 0777);
        put(FILE.toString(), 1000, 0666);
        readOnly.add("/etc/homeostat/desired.d");

        assertTrusted(FILE);
    }

    @Test
    void theRuleHoldsForThisMachine(@TempDir Path directory) throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        TrustedPath trusted = TrustedPath.ofThisProcess(Set.of());
        assertEquals(Optional.empty(), trusted.objection(file));

        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        assertEquals(Optional.of(file), trusted.objection(file).map(Objection::place));
    }

    /** As Kubernetes leaves each volume of a pod with an fsGroup, at each start anew. */
    @Test
    void aGroupWithoutANameCanBeNamedByItsNumber(@TempDir Path directory) throws IOException {
        assumeTrue(TrustedPath.isRoot(), "only root can give files away");
        Path file = Files.createFile(directory.resolve("file"));
        Files.setAttribute(file, "unix:gid", 54321);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-r--"));

        assertEquals(
                Optional.of("54321"),
                TrustedPath.ofThisProcess(Set.of()).objection(file).map(Objection::writer));
        assertEquals(
                Optional.empty(), TrustedPath.ofThisProcess(Set.of("54321")).objection(file));
    }

    @Test
    void anOrdinaryUserHasNoObjection(@TempDir Path directory) throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));

        assertEquals(Optional.empty(), TrustedPath.of(false, Set.of()).objection(file));
        assertEquals(Optional.empty(), TrustedPath.of(false, Set.of()).objection(Path.of("/proc/gone/x")));
    }

    /** The files of an image may belong to nobody in the namespace; those of the user nobody do not. */
    @ParameterizedTest
    @CsvSource({
        "'0 0 4294967295', false",
        "'         0     100000      65536', false",
        "'0 1000 1|1 100000 65536', false",
        "'0 1000 1', true",
        "'0 100000 65534|65535 200000 10', true"
    })
    void nobodyIsTrustedOnlyWhereNobodyCanBeHim(String map, boolean trusted) {
        assertEquals(
                trusted ? Optional.of(65534L) : Optional.empty(),
                TrustedPath.unmappedUid(MappedNumbers.parse(map.replace('|', '\n') + "\n"), 65534));
    }

    private TrustedPath trusted() {
        return new TrustedPath(machine, ImmutableSet.of(0L, 500L), ImmutableSet.of());
    }

    private void assertTrusted(Path path) {
        assertEquals(Optional.empty(), trusted().objection(path));
    }

    private void assertObjection(String place, Path path) {
        assertEquals(Optional.of(Path.of(place)), trusted().objection(path).map(Objection::place));
    }

    private void put(String path, long uid, int mode) {
        put(path, uid, mode, "group");
    }

    private void put(String path, long uid, int mode, String group) {
        entries.put(Path.of(path), new Entry(uid, mode, null, DISK));
        groups.put(Path.of(path), group);
    }

    private void link(String path, long uid, String target) {
        entries.put(Path.of(path), new Entry(uid, 0777, Path.of(target), DISK));
    }
}
