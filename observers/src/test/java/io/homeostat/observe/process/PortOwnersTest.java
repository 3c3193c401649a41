package io.homeostat.observe.process;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.homeostat.desired.platform.Layout;
import io.homeostat.desired.state.Identity.ProcessIdentity;
import io.homeostat.observe.limits.CgroupLayout;
import io.homeostat.observe.limits.LimitObserver;
import io.homeostat.observe.process.PortOwners.Owner;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PortOwnersTest {
    private static final String LOOPBACK = "0100007F";
    private static final String ANY = "00000000";
    private static final String MAPPED = "0000000000000000FFFF0000" + LOOPBACK;

    private static final long MAIN = 7;
    private static final long STRANGER = 70;
    private static final InetSocketAddress FROM = new InetSocketAddress(InetAddress.getLoopbackAddress(), 40000);
    private static final InetSocketAddress TO = new InetSocketAddress(InetAddress.getLoopbackAddress(), 8080);
    private static final String OUR_END = entry(LOOPBACK, 40000, LOOPBACK, 8080, "01", 0, 1);

    @TempDir
    Path root;

    private FakeProc proc;

    @BeforeEach
    void setUp() throws IOException {
        proc = new FakeProc(root);
        for (String pid : List.of("self", "7")) {
            Files.createDirectories(root.resolve(pid + "/ns"));
            Files.createSymbolicLink(root.resolve(pid + "/ns/net"), Path.of("net:[1]"));
        }
        proc.process(MAIN, 1, MAIN, 100);
        proc.process(STRANGER, 1, STRANGER, 50);
    }

    /** Until it executes its program a child has all that its parent has open, whichever of the two has the lower number. */
    @ParameterizedTest
    @CsvSource({"8, 80", "80, 8"})
    void whoListensIsNamedAndNotItsChild(long server, long child) throws IOException {
        tables(listening(4711));
        proc.process(server, 1, server, 100).process(child, server, server, 900);
        opens(server, 4711);
        opens(child, 4711);

        assertEquals(new Owner.Other("process " + server + " (program)"), owners().of(Optional.empty(), TO));
    }

    @Test
    void whoListensForAConnectionThatNobodyHasAcceptedHasIt() throws IOException {
        tables(listening(4711), OUR_END, otherEnd(0));
        opens(MAIN, 4711);

        assertEquals(new Owner.Own(), owner());
    }

    @Test
    void whoHasAcceptedItHasItAlsoWhenNobodyListensAnyMore() throws IOException {
        tables(OUR_END, otherEnd(4712));
        opens(STRANGER, 4712);
        assertEquals(new Owner.Other("process 70 (program)"), owner());

        opens(MAIN, 4712);
        assertEquals(new Owner.Own(), owner());
    }

    @Test
    void whoKeepsItsMemoryMayBelongToTheLaunchOfItsUserAlone() throws Exception {
        proc = new FakeProc(root, Duration.ofMillis(300));
        tables(listening(4711), OUR_END, otherEnd(0));
        proc.process(8, 1, 8, 900).silent(8);
        opens(8, 4711);
        assertEquals(new Owner.Unknown(), owner());

        proc.ids(8, Account.ourUid() + 1, Account.ourUid() + 1);
        assertEquals(new Owner.Other("process 8 (program)"), owner());
    }

    /** The port may have been left to the workload since. */
    @Test
    void whoListensDoesNotCountBesideWhoHasAcceptedIt() throws IOException {
        tables(listening(4711), OUR_END, otherEnd(4712));
        opens(MAIN, 4711);
        opens(STRANGER, 4712);

        assertEquals(new Owner.Other("process 70 (program)"), owner());
    }

    @Test
    void whoeverHasClosedItMayHaveAnsweredBefore() throws IOException {
        tables(listening(4711), entry(LOOPBACK, 40000, LOOPBACK, 8080, "08", 0, 1), otherEnd(0));
        opens(MAIN, 4711);

        assertEquals(new Owner.Gone(), owner());
        assertEquals(
                new Owner.Own(),
                owners().of(Launches.instance("l1"), new ProcessIdentity(MAIN, 100, FakeProc.BOOT), FROM, TO, false));
    }

    @Test
    void anIpv4ConnectionToAnIpv6SocketIsFound() throws IOException {
        tables(OUR_END);
        proc.write("net/tcp6", table(entry(MAPPED, 8080, MAPPED, 40000, "01", 0, 4712)));
        opens(MAIN, 4712);

        assertEquals(new Owner.Own(), owner());
    }

    /** No user can hide the other end as long as ours is connected. */
    @Test
    void onlyAnOtherEndThatIsNotHereAndStillThereCanNotBeSeen() throws IOException {
        tables(OUR_END);
        assertEquals(new Owner.Unknown(), owner());

        tables();
        assertEquals(new Owner.Gone(), owner());

        tables(entry(LOOPBACK, 40000, LOOPBACK, 8080, "08", 0, 1), otherEnd(0));
        assertEquals(new Owner.Gone(), owner());
    }

    @Test
    void ofSomebodyAmongTooManyFilesOnlyTheUserIsNamed() throws IOException {
        tables(listening(4711), OUR_END, otherEnd(0));
        opens(STRANGER, 1, 2, 3);
        proc.process(80, 1, 80, 900);
        opens(80, 4711);

        assertEquals(new Owner.Other("process 80 (program)"), owner());
        assertEquals(new Owner.Other("a process of the user with the number 1"), owner(owners(3)));
    }

    /** As of io_uring, of threads with descriptors of their own, and where the main thread has ended. */
    @Test
    void socketsThatNobodyShowsMayBeTheWorkloadsOwnIfTheyAreItsUsers() throws IOException {
        tables(listening(4711), OUR_END, otherEnd(4712));
        opens(MAIN, 4711);
        proc.write(MAIN + "/status", "Uid:\t1\t1\t1\t1\n");
        assertEquals(new Owner.Unknown(), owner());

        proc.write(MAIN + "/status", "Uid:\t2\t2\t2\t2\n");
        assertEquals(new Owner.Other("a process of the user with the number 1"), owner());

        opens(STRANGER, 4712);
        proc.write(MAIN + "/status", "Uid:\t1\t1\t1\t1\n");
        assertEquals(new Owner.Other("process 70 (program)"), owner());
    }

    @Test
    void whoLooksLikeItsOwnButHasLeftItIsNamedAsSuch() throws IOException {
        tables(listening(4711), OUR_END, otherEnd(0));
        opens(STRANGER, 4711);
        proc.write(STRANGER + "/environ", "HOMEOSTAT_LAUNCH_ID=l1\0");

        Owner.Other other = assertInstanceOf(Owner.Other.class, owner());
        assertTrue(other.words().contains("spec.user"), other.words());
    }

    private Owner owner() {
        return owner(owners());
    }

    private static Owner owner(PortOwners owners) {
        return owners.of(Launches.instance("l1"), new ProcessIdentity(MAIN, 100, FakeProc.BOOT), FROM, TO, true);
    }

    private PortOwners owners() {
        return owners(PortOwners.MOST_LOOKS);
    }

    private PortOwners owners(int looks) {
        return new PortOwners(new Layout(root, root, "m"), proc.procFs, new LimitObserver(CgroupLayout.NONE), looks);
    }

    private void tables(String... entries) throws IOException {
        proc.write("net/tcp", table(entries));
    }

    private static String table(String... entries) {
        return "sl local_address rem_address st tx_queue rx_queue tr tm->when retrnsmt uid timeout inode\n"
                + String.join("", entries);
    }

    private static String listening(int inode) {
        return entry(LOOPBACK, 8080, ANY, 0, "0A", 1, inode);
    }

    private static String otherEnd(int inode) {
        return entry(LOOPBACK, 8080, LOOPBACK, 40000, "01", 1, inode);
    }

    private static String entry(String local, int port, String peer, int peerPort, String state, int uid, int inode) {
        return "0: %s:%04X %s:%04X %s 00000000:00000000 00:00000000 00000000 %d 0 %d 1\n"
                .formatted(local, port, peer, peerPort, state, uid, inode);
    }

    private void opens(long pid, int... inodes) throws IOException {
        Path descriptors = Files.createDirectories(proc.root.resolve(pid + "/fd"));
        for (int i = 0; i < inodes.length; i++) {
            Files.createSymbolicLink(descriptors.resolve(Integer.toString(i)), Path.of("socket:[" + inodes[i] + "]"));
        }
    }
}
