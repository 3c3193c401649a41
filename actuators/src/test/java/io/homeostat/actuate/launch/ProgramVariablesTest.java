package io.homeostat.actuate.launch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import io.homeostat.actuate.ActuationFailure;
import io.homeostat.desired.model.EnvValue;
import io.homeostat.desired.model.ProcessSettings;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.WorkloadId;
import io.homeostat.observe.files.FileContents;
import io.homeostat.observe.process.Account;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramVariablesTest {
    private static final WorkloadId WEB = WorkloadId.process("web");

    @TempDir
    Path root;

    private String file(String name, String text) throws Exception {
        return Files.writeString(root.resolve(name), text).toString();
    }

    private static Program program(ImmutableList<String> files, ImmutableSortedMap<String, EnvValue> env) {
        return new Program(
                "1",
                null,
                "/bin/web",
                ImmutableList.of(),
                env,
                files,
                null,
                ProcessSettings.NONE,
                null,
                Program.Install.LOCAL);
    }

    @Test
    void laterFilesWinOverEarlierOnesAndWhatIsDeclaredOverAll() throws Exception {
        String first = file("first", "A=1\nB=1\nC=1\nD=1\n");
        String second = file("second", "B=2\nC=2\nD=2\n");
        String token = file("token", "4\n");
        ProgramVariables read = ProgramVariables.read(
                WEB,
                program(
                        ImmutableList.of(first, second),
                        ImmutableSortedMap.of("C", new EnvValue.Text("3"), "D", new EnvValue.FromFile(token))));

        assertEquals(ImmutableMap.of("A", "1", "B", "2", "C", "3", "D", "4"), read.variables());
        assertEquals(
                new FileContents(InstantSource.system()).look(null, ImmutableSet.of(first, second, token)),
                read.files());
    }

    @Test
    void oneFileMayServeBoth() throws Exception {
        String both = file("both", "A=1");
        ProgramVariables read = ProgramVariables.read(
                WEB, program(ImmutableList.of(both), ImmutableSortedMap.of("B", new EnvValue.FromFile(both))));

        assertEquals(ImmutableMap.of("A", "1", "B", "A=1"), read.variables());
    }

    @Test
    void whatCanNotBeReadIsNamedAndNoValueIs() throws Exception {
        String wrong = file("wrong", "A=1\nhunter2\n");
        ActuationFailure failure = assertThrows(
                ActuationFailure.class,
                () -> ProgramVariables.read(WEB, program(ImmutableList.of(wrong), ImmutableSortedMap.of())));

        String message = String.valueOf(failure.getMessage());
        assertTrue(message.contains(wrong + ": line 2 of it "), message);
        assertFalse(message.contains("hunter2"), message);
        assertFalse(failure.fatal());
    }

    @Test
    void valuesAreNotPrinted() throws Exception {
        String file = file("f", "A=hunter2");

        assertFalse(ProgramVariables.read(WEB, program(ImmutableList.of(file), ImmutableSortedMap.of()))
                .toString()
                .contains("hunter2"));
    }

    @Test
    void whatTheProgramMayReadByItsGroupsIsRead() throws Exception {
        Assumptions.assumeTrue(Account.ourUid() == 0, "only root reads as another user");
        Files.setPosixFilePermissions(root, PosixFilePermissions.fromString("rwx--x--x"));
        String token = file("token", "secret");
        Files.setAttribute(Path.of(token), "unix:gid", 12_345);
        Files.setPosixFilePermissions(Path.of(token), PosixFilePermissions.fromString("rw-r-----"));

        assertEquals("secret", read(token, null, ImmutableList.of("12345")));
        assertEquals("secret", read(token, "12345", null));
        assertThrows(ActuationFailure.class, () -> read(token, null, null));
    }

    private static @Nullable String read(
            String file, @Nullable String group, @Nullable ImmutableList<String> supplementaryGroups)
            throws ActuationFailure {
        Program program = new Program(
                "1",
                null,
                "/bin/web",
                ImmutableList.of(),
                ImmutableSortedMap.of("TOKEN", new EnvValue.FromFile(file)),
                null,
                "nobody",
                new ProcessSettings(null, null, group, supplementaryGroups, null, null, null),
                null,
                Program.Install.LOCAL);
        return ProgramVariables.read(WEB, program).variables().get("TOKEN");
    }
}
