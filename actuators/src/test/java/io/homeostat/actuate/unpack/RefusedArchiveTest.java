package io.homeostat.actuate.unpack;

import io.homeostat.observe.install.InstallationMarker;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarConstants;
import org.junit.jupiter.api.Test;

/** What an archive may not have in it; the message names the entry. */
final class RefusedArchiveTest extends RefusalTestBed {
    private static final long MIB = 1 << 20;
    private static final String LEADS_OUT = " is a symlink that leads out of the archive";

    @Test
    void absoluteNames() throws Exception {
        String words = "entry '/etc/evil' has an absolute name";
        refused(tar().file("/etc/evil", "x").tarGz(), words);
        refused(zip().file("/etc/evil", 0644, new byte[0]).zip(), words);
    }

    @Test
    void namesThatLeadUp() throws Exception {
        String words = " has '..' in its name";
        refused(tar().file("../evil", "x").tarGz(), "entry '../evil'" + words);
        refused(tar().file("a/../../evil", "x").tarGz(), "entry 'a/../../evil'" + words);
        refused(tar().directory("..", 0755).tarGz(), words);
        refused(tar().symlink("../evil", "x").tarGz(), words);
        refused(tar().hardLink("../evil", "run").tarGz(), words);
        refused(zip().file("a/../../evil", 0644, new byte[0]).zip(), "entry 'a/../../evil'" + words);
        String tooLongForTheHeader = "x/".repeat(60) + "../".repeat(80) + "evil";
        refused(tar().file(tooLongForTheHeader, "x").tarGz(), words);
    }

    @Test
    void namesThatLeadUpByBackslashes() throws Exception {
        refused(tar().file("..\\..\\evil", "x").tarGz(), "leads out of its directory by backslashes");
        refused(tar().file("\\evil", "x").tarGz(), "by backslashes");
        refused(tar().file("C:\\evil", "x").tarGz(), "by backslashes");
        refused(zip().file("a\\..\\..\\evil", 0644, new byte[0]).zip(), "'a/../../evil' has '..'");
    }

    @Test
    void namesWithControlCharacters() throws Exception {
        refused(tar().file("a\u001b[2Jb", "x").tarGz(), "entry 'a?[2Jb' has a control character in its name");
        refused(tar().file("a\nb", "x").tarGz(), "has a control character");
        refused(tar().symlink("a", "b\u0007").tarGz(), "has a control character");
    }

    @Test
    void overlongNames() throws Exception {
        refused(tar().file("x".repeat(256), "x").tarGz(), "has a name longer than 255 bytes");
        refused(tar().file("x/".repeat(101) + "y", "x").tarGz(), "deeper than 100 directories");
        refused(tar().file(("y".repeat(200) + "/").repeat(11) + "y", "x").tarGz(), "has a path longer than 2048 bytes");
    }

    @Test
    void symlinksThatLeadOut() throws Exception {
        refused(
                tar().symlink("evil", "/etc/passwd").tarGz(),
                "entry 'evil' is a symlink to the absolute path '/etc/passwd'");
        refused(tar().symlink("evil", "..").tarGz(), "entry 'evil'" + LEADS_OUT);
        refused(tar().symlink("a/evil", "../../x").tarGz(), "entry 'a/evil'" + LEADS_OUT);
        refused(zip().symlink("evil", "../x").zip(), "entry 'evil'" + LEADS_OUT);
        refused(zip().symlink("evil", "/x").zip(), " absolute path '/x'");
    }

    @Test
    void symlinksThatOnlyTogetherLeadOut() throws Exception {
        TarBuilder tar =
                tar().directory("a/b/c", 0755).symlink("up", "a/b/c").symlink("evil", "up/../../../../etc/passwd");
        refused(tar.tarGz(), "entry 'evil'" + LEADS_OUT);

        // Looked at alone, "in/.." stays inside; but "in" is the root itself.
        refused(tar().symlink("d/in", "..").symlink("d/evil", "in/..").tarGz(), "entry 'd/evil'" + LEADS_OUT);
    }

    @Test
    void symlinksInCircles() throws Exception {
        refused(tar().symlink("a", "b").symlink("b", "a").tarGz(), "is a symlink that leads round in circles");
    }

    @Test
    void writingThroughASymlink() throws Exception {
        String through = "entry 'link/evil' would be written through the symlink 'link'";
        Path outside = Files.createDirectory(temp.resolve("outside"));
        refused(tar().symlink("link", outside.toString()).file("link/evil", "x").tarGz(), "'link' is a symlink");
        refused(
                tar().directory("d", 0755)
                        .symlink("link", "d")
                        .file("link/evil", "x")
                        .tarGz(),
                through);
        refused(zip().symlink("link", "d").file("link/evil", 0644, new byte[0]).zip(), through);
        refused(tar().symlink("link", "d").hardLink("link/evil", "run").tarGz(), through);
    }

    @Test
    void oneKindOfEntryOverAnother() throws Exception {
        String file = "entry 'a' is a file where an earlier entry is something else";
        String symlink = "entry 'a' is a symlink where an earlier entry is something else";
        refused(tar().symlink("a", "b").file("a", "x").tarGz(), file);
        refused(
                tar().symlink("a", "b").directory("a", 0755).tarGz(),
                "entry 'a/' is a directory where an earlier entry is none");
        refused(tar().symlink("a", "b").symlink("a", "c").tarGz(), symlink);
        refused(tar().file("a", "x").symlink("a", "b").tarGz(), symlink);
        refused(tar().directory("a", 0755).symlink("a", "b").tarGz(), symlink);
        refused(tar().directory("a", 0755).file("a", "x").tarGz(), file);
        refused(tar().directory("a", 0755).hardLink("a", "run").tarGz(), file);
        refused(tar().file("a", "x").file("a/b", "x").tarGz(), "entry 'a/b' is below 'a', which is a file");
        refused(tar().file("a/b", "x").symlink("a", "c").tarGz(), symlink);
        refused(tar().file("./", "").file(".", "x").tarGz(), "in the place of the root directory");
    }

    @Test
    void hardLinksToAnythingButAnEarlierFileOfTheArchive() throws Exception {
        String noFile = "', which is no earlier regular file of the archive";
        refused(
                tar().hardLink("evil", "/etc/passwd").tarGz(),
                "entry 'evil' is a hard link out of the archive, to '/etc/passwd'");
        refused(tar().hardLink("evil", "../x").tarGz(), "out of the archive, to '../x'");
        refused(tar().hardLink("evil", "later").file("later", "x").tarGz(), noFile);
        refused(tar().directory("d", 0755).hardLink("evil", "d").tarGz(), noFile);
        refused(tar().symlink("s", "run").hardLink("evil", "s").tarGz(), noFile);
        refused(tar().hardLink("run", "run").tarGz(), noFile);
    }

    @Test
    void devicesAndFifos() throws Exception {
        refused(tar().special("dev", TarConstants.LF_CHR).tarGz(), "entry 'dev' is a character device");
        refused(tar().special("dev", TarConstants.LF_BLK).tarGz(), "entry 'dev' is a block device");
        refused(tar().special("fifo", TarConstants.LF_FIFO).tarGz(), "entry 'fifo' is a FIFO");
        refused(tar().special("odd", (byte) 'Q').tarGz(), "entry 'odd' is of the unknown type 81");
        refused(
                zip().put("dev", 0020644, new byte[0]).zip(),
                "entry 'dev' is neither a file, a directory nor a symlink (mode 20644)");
        refused(zip().put("socket", 0140644, new byte[0]).zip(), "entry 'socket' is neither");
    }

    @Test
    void setuidAndSetgidBits() throws Exception {
        String words = " has the setuid or setgid bit";
        refused(tar().file("evil", 04755, new byte[0]).tarGz(), "entry 'evil'" + words);
        refused(tar().file("evil", 02755, new byte[0]).tarGz(), "entry 'evil'" + words);
        refused(tar().directory("evil", 02755).tarGz(), "entry 'evil/'" + words);
        refused(zip().file("evil", 04755, new byte[0]).zip(), "entry 'evil'" + words);
    }

    @Test
    void ourOwnMarker() throws Exception {
        String words = "has a name under which Homeostat marks its installations";
        refused(tar().file("./" + InstallationMarker.FILE, "{}").tarGz(), words);
        // Under it the marker is written before it is renamed.
        refused(tar().file(InstallationMarker.FILE + ".new/x", "").tarGz(), words);
    }

    @Test
    void tooManyEntries() throws Exception {
        UnpackLimits limits = new UnpackLimits(100 * MIB, 10, 0);
        TarBuilder tar = tar();
        ZipBuilder zip = zip();
        for (int i = 0; i < 10; i++) {
            tar.file("f" + i, "");
            zip.file("f" + i, 0644, new byte[0]);
        }

        refused(tar.tarGz(), "more than the 10 ", limits);
        refused(zip.zip(), "more than the 10 ", limits);
    }

    @Test
    void tooManyBytes() throws Exception {
        String words = "entry 'large' makes it unpack to more than the 1048576 bytes";
        UnpackLimits limits = new UnpackLimits(MIB, 10, 0);
        byte[] large = new byte[(int) MIB + 1];
        new Random(1).nextBytes(large);

        refused(tar().file("large", 0644, large).tarGz(), words, limits);
        refused(zip().file("large", 0644, large).zip(), words, limits);
    }

    @Test
    void bombs() throws Exception {
        String words = "entry 'bomb' makes it a compression bomb";
        byte[] zeros = new byte[80 << 20];

        refused(tar().file("bomb", 0644, zeros).tarGz(), words);
        refused(zip().file("bomb", 0644, zeros).zip(), words);
    }

    @Test
    void zerosWithoutEndAfterTheEnd() throws Exception {
        byte[] tar = tar().file("f", "content").tar();

        refused(
                TarBuilder.gzip(Arrays.copyOf(tar, tar.length + (17 << 20))),
                "it has too much beside the content of its files before byte ");
    }

    @Test
    void aHeaderThatWouldFillTheMemory() throws Exception {
        TarArchiveEntry entry = new TarArchiveEntry("x", true);
        entry.addPaxHeader("comment", "x".repeat(2 << 20));

        refused(tar().put(entry, new byte[0]).tarGz(), "the header of an entry is longer than 262144 bytes");
    }
}
