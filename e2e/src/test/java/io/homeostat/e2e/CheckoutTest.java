package io.homeostat.e2e;

import static io.homeostat.e2e.Patience.eventually;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A checkout on a machine that has nothing but what the test gives it: which JDK is found, how one is fetched, what the first use says.
 * The scripts are the real ones; what stands for JDK and Maven are scripts, too.
 */
@Tag("nightly")
class CheckoutTest {
    /** What the scripts use. Java is not among them, whatever the machine has. */
    private static final String TOOLS =
            "awk cat chmod cp curl date df env find flock grep gzip ldd ls mkdir mv readlink rm sed sh"
                    + " sha256sum sleep sync tar touch tr uname wget";

    private static final List<String> SYSTEM = List.of("/usr/lib/jvm", "/usr/java", "/usr/jdk", "/opt/java");
    private static final String MAVEN = """
            #!/bin/sh
            cat <<'END'
            [INFO] Scanning for projects...
            [INFO] Reactor Build Order:
            [INFO]
            [INFO] Building Homeostat 0.1.0-SNAPSHOT                                  [1/3]
            [INFO] Building Homeostat desired state 0.1.0-SNAPSHOT                    [2/3]
            [DEBUG] Using connector BasicRepositoryConnector with priority 0.0 for https://repo.example/maven2
            [DEBUG] Using connector BasicRepositoryConnector with priority 0.0 for https://repo.example/maven2
            [INFO] Building a name that takes nearly the whole of the line 0.1.0-SNAPSHOT [3/3]
            END
            %s
            mkdir -p reconciler/target/homeostat
            cp -R reconciler/src/main/dist/* reconciler/target/homeostat/
            echo '[INFO] BUILD SUCCESS'
            """;

    /** Says with which path it was started, and its last argument. */
    private static final String PROGRAM = "#!/bin/sh\nfor last; do :; done\necho \"$0 runs $last\"\n";

    @RegisterExtension
    final Bucket bucket = new Bucket();

    @TempDir
    Path directory;

    private final Map<String, String> environment = new LinkedHashMap<>();
    private Path machine;
    private Path tools;
    private Path checkout;
    private int commands;

    @BeforeEach
    void setUp() throws IOException {
        machine = directory.toRealPath();
        tools = Files.createDirectory(machine.resolve("tools"));
        for (String tool : TOOLS.split(" ", -1)) {
            Stream.of("/usr/bin/", "/bin/")
                    .map(place -> Path.of(place + tool))
                    .filter(Files::isExecutable)
                    .findFirst()
                    .ifPresent(found -> link(tools.resolve(tool), found));
        }
        environment.put("PATH", tools.toString());
        environment.put("HOME", machine + "/home of mine");
        checkout = machine.resolve("check out");
        for (String file : new String[] {
            "homeostat",
            "fetch-jdk",
            ".mvn/jdk/bin/java",
            ".mvn/jdk/bin/javac",
            "reconciler/src/main/dist/bin/homeostat",
            "reconciler/src/main/dist/share/find-java.sh"
        }) {
            Path copy = checkout.resolve(file);
            Files.createDirectories(copy.getParent());
            Files.copy(Distribution.checkout().resolve(file), copy, StandardCopyOption.COPY_ATTRIBUTES);
        }
        for (String module : new String[] {"reconciler", "e2e/sample-plugin"}) {
            Files.createDirectories(checkout.resolve(module).resolve("src/main"));
            Files.createFile(checkout.resolve(module).resolve("pom.xml"));
        }
        Files.createFile(checkout.resolve("pom.xml"));
        // Only these places are the same on all machines.
        Path search = checkout.resolve("reconciler/src/main/dist/share/find-java.sh");
        String text = Files.readString(search);
        for (String place : SYSTEM) {
            assertTrue(text.contains(" " + place + "/*"), place);
            text = text.replace(" " + place + "/*", " '" + machine + place + "'/*");
        }
        Files.writeString(search, text);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "check out/.jdk/current",
                "check out/.jdk/jdk-26.0.1+8",
                "usr/lib/jvm/zulu",
                "home of mine/.sdkman/candidates/java/26.ea-open",
                "home of mine/.jdks/corretto",
                "home of mine/.gradle/jdks/adoptium",
                "opt/java/openjdk"
            })
    void aJdkIsFoundWhereverItUsuallyIs(String place) throws IOException {
        jdk("usr/lib/jvm/java-17-openjdk", "17.0.15");
        jdk("usr/lib/jvm/jdk-25-in-name-only", "1.8.0_402");
        Path jdk = jdk(place, "26-ea");
        assertEquals(jdk.toString(), found("javac"));
        assertEquals(jdk.toString(), found(""));
    }

    @Test
    void aJdkIsFoundByTheVariablesThatNameIt() throws IOException {
        Path jdk = jdk("somewhere else", "25.0.1");
        for (String variable : new String[] {"HOMEOSTAT_JAVA_HOME", "JAVA_HOME", "JAVA25_HOME", "JAVA_HOME_25_X64"}) {
            environment.put(variable, jdk.toString());
            assertEquals(jdk.toString(), found("javac"), variable);
            environment.remove(variable);
        }
        run("/bin/sh", "-euc", ". './" + checkout.relativize(search()) + "'")
                .exits(1)
                .says("or newer; there is none in");
    }

    /** Alternatives of Debian are links to links; an older one may come first. */
    @Test
    void allOfThePathIsLookedThrough() throws IOException {
        Path jdk = jdk("opt/a jdk", "25.0.1");
        Path older = jdk("opt/older", "21.0.1");
        link(tools.resolve("java"), older.resolve("bin/java"));
        Path links = Files.createDirectory(machine.resolve("links"));
        link(links.resolve("java"), link(links.resolve("alternative"), jdk.resolve("bin/java")));
        link(links.resolve("javac"), jdk.resolve("bin/javac"));
        environment.merge("PATH", ":" + links, String::concat);
        environment.remove("HOME");

        assertEquals(jdk.toString(), found("javac"));
        assertEquals(jdk.toString(), found(""));
    }

    @Test
    void theFirstOfSeveralIsTheOneThatIsNamedThenTheOneOfTheCheckoutThenTheOneOfThePath() throws IOException {
        jdk("home of mine/.jdks/a", "25");
        jdk("usr/lib/jvm/b", "25");
        Path system = jdk("usr/lib/jvm/a", "26");
        assertEquals(system.toString(), found("javac"));
        Path inPath = jdk("in path", "25");
        environment.merge("PATH", ":" + inPath.resolve("bin"), String::concat);
        assertEquals(inPath.toString(), found("javac"));
        Path own = jdk("check out/.jdk/current", "25");
        assertEquals(own.toString(), found("javac"));
        Path home = jdk("java home", "25");
        environment.put("JAVA_HOME", home.toString());
        assertEquals(home.toString(), found("javac"));
        Path ours = jdk("our home", "25");
        environment.put("HOMEOSTAT_JAVA_HOME", ours.toString());
        assertEquals(ours.toString(), found("javac"));
    }

    @Test
    void aRuntimeIsPassedOverWhereACompilerIsNeededAndOnlyThere() throws IOException {
        Path runtime = jdk("runtime", "25");
        Files.delete(runtime.resolve("bin/javac"));
        for (String variable : new String[] {"HOMEOSTAT_JAVA_HOME", "JAVA_HOME"}) {
            environment.remove("HOMEOSTAT_JAVA_HOME");
            environment.put(variable, runtime.toString());
            assertEquals(runtime.toString(), found(""));
            run("/bin/sh", "-euc", "hs_tool=javac; . './" + checkout.relativize(search()) + "'")
                    .exits(1)
                    .says(runtime + " would do but for bin/javac, which it lacks");
        }
        Path jdk = jdk("usr/lib/jvm/jdk", "25");
        assertEquals(jdk.toString(), found("javac"));
        assertEquals(runtime.toString(), found(""));
    }

    @Test
    void whoeverNamesTheWrongOneIsToldSo() throws IOException {
        jdk("usr/lib/jvm/jdk", "25");
        environment.put("HOMEOSTAT_JAVA_HOME", jdk("old", "21.0.2").toString());
        run("./homeostat", "version")
                .exits(1)
                .says("HOMEOSTAT_JAVA_HOME=" + machine + "/old is not a Java 25 or newer");
    }

    /** Surefire makes the one that Maven names the JAVA_HOME of the tests. */
    @Test
    void theJdkThatTheBuildNamesIsTheOneThatIsFound() throws IOException {
        Path jdk = jdk("check out/.jdk/current", "25");
        environment.put("JAVA_HOME", checkout.resolve(".mvn/jdk").toString());
        for (String program : new String[] {"java", "javac"}) {
            Result said = run(checkout.resolve(".mvn/jdk/bin/" + program).toString(), "-version");
            said.exits(0).says(jdk.resolve("bin/" + program) + " runs -version");
        }
        Files.delete(jdk.resolve("bin/javac"));
        run(".mvn/jdk/bin/javac", "-version").exits(1).says(checkout + "/fetch-jdk");
    }

    @Test
    void withoutAJdkAndWithoutATerminalTheCommandThatFetchesOneIsNamedAndNothingIsDone() throws IOException {
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")));
        run("./homeostat", "version")
                .exits(1)
                .says("needs a JDK 25 or newer")
                .says("sudo apt-get install openjdk-25-jdk")
                .says("have one fetched just for this directory:  " + checkout + "/fetch-jdk");
        assertEquals(0, bucket.requests());
        assertFalse(Files.exists(checkout.resolve(".jdk")));
    }

    @Test
    void whatIsFetchedBuildsTheProgramAndRunsIt() throws IOException {
        maven("");
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")) + "?signature=secret");
        run("./fetch-jdk")
                .exits(0)
                .says("fetching the JDK of HOMEOSTAT_JDK_URL from " + bucket.url("/public/jdk.tar.gz"))
                .says(checkout + "/.jdk/current")
                .says("export JAVA_HOME=" + checkout + "/.jdk/current")
                .doesNotSay("secret");
        environment.remove("HOMEOSTAT_JDK_URL");

        String java = checkout + "/.jdk/current/bin/java";
        Result first = run("./homeostat", "version").exits(0);
        assertEquals(java + " runs version\n", first.out());
        first.says("building homeostat (first use, some minutes) with " + checkout + "/.jdk/current ...");
        // The program as it was built finds it as well.
        assertEquals(
                java + " runs status\n",
                run("reconciler/target/homeostat/bin/homeostat", "status")
                        .exits(0)
                        .out());
        int requests = bucket.requests();
        run("./fetch-jdk").exits(0).says("there is one already: " + checkout + "/.jdk/current");
        assertEquals(requests, bucket.requests());
        assertEquals(List.of("current"), inJdks());
    }

    @Test
    void whoSaysYesAtATerminalGetsOneAndTheBuildGoesOn() throws Exception {
        maven("");
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")));
        answered("y")
                .exits(0)
                .says("Fetch one?")
                .says("from  " + bucket.url("/public/jdk.tar.gz"))
                .says("to    " + checkout + "/.jdk/current")
                .says("fetched in")
                .says("built in")
                .says(checkout + "/.jdk/current/bin/java runs version");
    }

    @Test
    void whoSaysNoAtATerminalIsToldOfTheOtherWays() throws Exception {
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")));
        answered("").exits(1).says("Fetch one?").says("sudo apt-get install openjdk-25-jdk");
        assertEquals(0, bucket.requests());
        assertEquals(List.of(), inJdks());
    }

    @ParameterizedTest
    @CsvSource({
        "x86_64,  ldd (Debian GLIBC 2.36),    x64_linux",
        "aarch64, ldd (Ubuntu GLIBC 2.39),    aarch64_linux",
        "x86_64,  musl libc (x86_64),         x64_alpine-linux",
        "aarch64, musl libc (aarch64),        aarch64_alpine-linux",
    })
    void eachMachineIsOfferedTheOneThatRunsOnIt(String processor, String library, String kind) throws IOException {
        tool("uname", "echo " + processor);
        tool("ldd", "echo '" + library + "' >&2; exit 1");
        run("./fetch-jdk", "--ask")
                .exits(1)
                .says("Eclipse Temurin 25.0.4.1+1 (about 140 MB, 300 MB unpacked)")
                .says(
                        "https://github.com/adoptium/temurin25-binaries/releases/download/jdk-25.0.4.1%2B1/OpenJDK25U-jdk_"
                                + kind + "_hotspot_25.0.4.1_1.tar.gz");
    }

    @Test
    void aMachineForWhichThereIsNoneIsToldHowToNameOne() throws IOException {
        tool("uname", "echo mips");
        run("./fetch-jdk").exits(1).says("of the kind mips").says("HOMEOSTAT_JDK_URL");
    }

    @Test
    void withoutAProgramThatDownloadsItIsSaidWhichOneToInstall() throws IOException {
        Files.deleteIfExists(tools.resolve("curl"));
        Files.deleteIfExists(tools.resolve("wget"));
        run("./fetch-jdk").exits(1).says("needs curl or wget").says("or unpack a JDK 25 below " + checkout + "/.jdk");
        assertEquals(List.of(), inJdks());
    }

    @ParameterizedTest
    @ValueSource(strings = {"curl", "wget"})
    void whatMayBeASecretIsNoArgument(String name) throws IOException {
        Path tool = tools.resolve(name);
        assumeTrue(Files.exists(tool), "no " + name + " here");
        Path real = tool.toRealPath();
        for (String each : List.of("curl", "wget")) {
            Files.deleteIfExists(tools.resolve(each));
        }
        Path arguments = checkout.resolve("arguments");
        tool(name, "printf '%s\\n' \"$@\" >>'" + arguments + "'\nexec '" + real + "' \"$@\"");
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")) + "?signature=secret");

        run("./fetch-jdk").exits(0);

        String seen = Files.readString(arguments);
        assertTrue(seen.contains("jdk.tar.gz"), seen);
        assertFalse(seen.contains("secret"), seen);
    }

    @Test
    void aWgetWithoutOptionsDoesAsWellWhereNothingIsSecret() throws IOException {
        Path wget = tools.resolve("wget");
        assumeTrue(Files.exists(wget), "no wget here");
        Path real = wget.toRealPath();
        Files.deleteIfExists(wget);
        Files.deleteIfExists(tools.resolve("curl"));
        // As that of BusyBox.
        tool(
                "wget",
                "case \"$*\" in *\" -i \"*) echo \"wget: invalid option -- 'i'\" >&2; exit 1 ;; esac\nexec '" + real
                        + "' \"$@\"");
        byte[] archive = archive("25.0.9");
        String url = publish(archive);
        environment.put("HOMEOSTAT_JDK_SHA256", Hashes.sha256(archive));
        environment.put("HOMEOSTAT_JDK_URL", url + "?signature=secret");
        run("./fetch-jdk").exits(1).says("invalid option");

        environment.put("HOMEOSTAT_JDK_URL", url);
        run("./fetch-jdk").exits(0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"\nproxy = \"http://127.0.0.1:1\"", "a\"b", "a\\b", "a b"})
    void anAddressIsNothingButAnAddress(String added) throws IOException {
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")) + "?x=" + added);
        run("./fetch-jdk").exits(1).says("as no address has");
    }

    @Test
    void wgetDoesAsWell() throws IOException {
        assumeTrue(Files.exists(tools.resolve("wget")), "no wget here");
        Files.deleteIfExists(tools.resolve("curl"));
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")));
        run("./fetch-jdk").exits(0);
        assertEquals(List.of("current"), inJdks());

        bucket.publish("jdk.tar.gz", Bucket.status(404));
        Trees.delete(checkout.resolve(".jdk"));
        run("./fetch-jdk").exits(1).says("could not download it");
        assertEquals(List.of(), inJdks());
    }

    /** Where the checksum would come by the same way as the archive, somebody in between could have changed both. */
    @Test
    void plainHttpIsTakenOnlyFromThisMachineOrWithAChecksumFromElsewhere() throws IOException {
        for (String url :
                new String[] {"http://jdk.example/jdk.tar.gz", "http://127.0.0.1:80@jdk.example/jdk.tar.gz"}) {
            environment.put("HOMEOSTAT_JDK_URL", url);
            run("./fetch-jdk").exits(1).says("is plain http").says("HOMEOSTAT_JDK_SHA256");
        }
        environment.put("HOMEOSTAT_JDK_URL", "ftp://127.0.0.1/jdk.tar.gz");
        run("./fetch-jdk").exits(1).says("does not begin with https://");

        byte[] archive = archive("25.0.9");
        environment.put("HOMEOSTAT_JDK_URL", bucket.publish("alone.tar.gz", Bucket.whole(archive)));
        run("./fetch-jdk").exits(1).says("no checksum is to be had at").says("HOMEOSTAT_JDK_SHA256");
        bucket.publish("alone.tar.gz.sha256.txt", Bucket.html("<html>Sign in</html>"));
        run("./fetch-jdk").exits(1).says("begins with is no SHA-256");
        environment.put("HOMEOSTAT_JDK_SHA256", Hashes.sha256(archive).toUpperCase(Locale.ROOT));
        run("./fetch-jdk").exits(0);
    }

    @Test
    void whatIsNotWhatWasPublishedIsThrownAway() throws IOException {
        byte[] archive = archive("25.0.9");
        environment.put("HOMEOSTAT_JDK_URL", publish(archive));
        bucket.publish("jdk.tar.gz", Bucket.whole(Arrays.copyOf(archive, archive.length / 2)));
        run("./fetch-jdk")
                .exits(1)
                .says("not what was published, and is thrown away")
                .says(Hashes.sha256(archive));
        assertEquals(List.of(), inJdks());

        bucket.publish("jdk.tar.gz", Bucket.resetAtOnce());
        run("./fetch-jdk").exits(1).says("could not download it").says("MB are free there");
        bucket.publish("jdk.tar.gz", Bucket.whole(archive));
        run("./fetch-jdk").exits(0);
        assertEquals(List.of("current"), inJdks());
    }

    @Test
    void whatIsNoJdkOfThisVersionIsRefused() throws IOException {
        byte[] whole = archive("25.0.9");
        Map<String, byte[]> archives = new LinkedHashMap<>();
        archives.put("is not 25 or newer: JAVA_VERSION=\"21.0.2\"", archive("21.0.2"));
        archives.put(
                "is no JDK: it has not just one directory",
                new TarGz()
                        .file("jre/release", 0644, "JAVA_VERSION=\"25\"\n")
                        .file("jre/bin/java", 0755, "#!/bin/sh\n")
                        .bytes());
        archives.put(
                "does not run on this machine",
                new TarGz()
                        .file("jdk/release", 0644, "JAVA_VERSION=\"25\"\n")
                        .file("jdk/bin/java", 0755, "\177ELF of another processor")
                        .file("jdk/bin/javac", 0755, "\177ELF of another processor")
                        .bytes());
        archives.put("could not unpack it", Arrays.copyOf(whole, whole.length - 40));
        for (Map.Entry<String, byte[]> archive : archives.entrySet()) {
            environment.put("HOMEOSTAT_JDK_URL", publish(archive.getValue()));
            run("./fetch-jdk").exits(1).says(archive.getKey());
            assertEquals(List.of(), inJdks());
        }
    }

    @Test
    void whereThereIsNoRoomItIsSaidHowMuchThereIs() throws IOException {
        environment.put("HOMEOSTAT_JDK_URL", publish(archive("25.0.9")));
        run("/bin/sh", "-c", "ulimit -f 1; exec ./fetch-jdk").exits(1).says("MB are free there");
        assertEquals(List.of(), inJdks());
    }

    @Test
    void whatIsKilledInTheMiddleIsTakenForNothingAndClearedAwayByTheNext() throws IOException {
        byte[] archive = archive("25.0.9");
        environment.put("HOMEOSTAT_JDK_URL", publish(archive));
        bucket.publish("jdk.tar.gz", Bucket.slow(archive, 60_000));
        Process fetching = start("./fetch-jdk");
        Path partial = checkout.resolve(".jdk/.new." + fetching.pid() + "/jdk.tar.gz");
        eventually().until(() -> Files.exists(partial) && Files.size(partial) > 0);
        List<ProcessHandle> children = fetching.descendants().toList();
        fetching.destroyForcibly();
        children.forEach(ProcessHandle::destroyForcibly);
        eventually().until(() -> !fetching.isAlive() && children.stream().noneMatch(ProcessHandle::isAlive));

        run("./homeostat", "version").exits(1).says("needs a JDK 25 or newer");
        bucket.publish("jdk.tar.gz", Bucket.whole(archive));
        run("./fetch-jdk").exits(0);
        assertEquals(List.of("current"), inJdks());
    }

    @Test
    void twoAtOnceDoNoHarm() throws IOException {
        byte[] archive = archive("25.0.9");
        environment.put("HOMEOSTAT_JDK_URL", publish(archive));
        bucket.publish("jdk.tar.gz", Bucket.slow(archive, 500));
        List<Command> both = List.of(command("./fetch-jdk"), command("./fetch-jdk"));
        for (Command one : both) {
            one.await(Patience.LONGEST).exits(0);
        }
        assertEquals(List.of("current"), inJdks());
        assertFalse(Files.exists(checkout.resolve(".jdk/current/current")));
    }

    @Test
    void theFirstUseTellsEachStepAndItsTime() throws IOException {
        jdk("usr/lib/jvm/jdk", "25");
        maven("");
        Result first = run("./homeostat", "version").exits(0);
        List<String> steps = List.of(
                "building homeostat \\(first use, some minutes\\) with .*/usr/lib/jvm/jdk \\.\\.\\.",
                "  \\[1/3] Homeostat \\.\\.\\. \\d+ s",
                "  \\[2/3] desired state \\.\\.\\. downloading \\.\\.\\. \\d+ s",
                "  \\[3/3] a name that takes nearly the whole of the line \\.\\.\\. \\d+ s",
                "  preparing a fast start \\.\\.\\. \\d+ s",
                "built in \\d+ s");
        List<String> said = first.err().lines().toList();
        assertEquals(steps.size(), said.size(), first::toString);
        for (int step = 0; step < steps.size(); step++) {
            assertTrue(said.get(step).matches(steps.get(step)), said.get(step));
        }
        assertTrue(Files.readString(checkout.resolve("reconciler/target/build.log"))
                .contains("Reactor Build Order"));

        assertEquals("", run("./homeostat", "version").exits(0).err());
        Files.createFile(checkout.resolve("reconciler/src/main/New.java"));
        run("./homeostat", "version")
                .exits(0)
                .says("building homeostat (sources have changed) with")
                .says("built in");
    }

    @Test
    void aBuildThatFailsSaysInWhichStepAndWhy() throws IOException {
        jdk("usr/lib/jvm/jdk", "25");
        maven("echo '[ERROR] Model.java:[3,8] cannot find symbol'; exit 1");
        run("./homeostat", "version")
                .exits(1)
                .says("whole of the line ... failed after ")
                .says("[ERROR] Model.java:[3,8] cannot find symbol")
                .says("the build failed; all it said is in " + checkout + "/reconciler/target/build.log")
                .doesNotSay("built in");
        maven("");
        run("./homeostat", "version")
                .exits(0)
                .says("building homeostat (first use")
                .says("built in");
    }

    @Test
    void aFirstUseThatIsKilledLeavesNothingThatTheNextOneMindsOf() throws IOException {
        jdk("usr/lib/jvm/jdk", "25");
        maven("mkdir -p reconciler/target/homeostat/bin; touch reached; sleep 90");
        Process building = start("./homeostat", "version");
        eventually().until(() -> Files.exists(checkout.resolve("reached")));
        List<ProcessHandle> children = building.descendants().toList();
        building.destroyForcibly();
        children.forEach(ProcessHandle::destroyForcibly);
        eventually().until(() -> children.stream().noneMatch(ProcessHandle::isAlive));

        maven("");
        run("./homeostat", "version").exits(0).says("built in").says("jdk/bin/java runs version");
    }

    private Path jdk(String place, String version) throws IOException {
        Path home = machine.resolve(place);
        Files.createDirectories(home);
        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"N. N.\"\nJAVA_VERSION=\"" + version + "\"\n");
        executable(home.resolve("bin/java"), PROGRAM);
        executable(home.resolve("bin/javac"), PROGRAM);
        return home;
    }

    private static byte[] archive(String version) {
        String top = "jdk-" + version + "+1/";
        return new TarGz()
                .file(top + "release", 0644, "JAVA_VERSION=\"" + version + "\"\n")
                .file(top + "bin/java", 0755, PROGRAM)
                .file(top + "bin/javac", 0755, PROGRAM)
                .file(top + "lib/noise", 0644, noise())
                .bytes();
    }

    private static byte[] noise() {
        byte[] noise = new byte[100_000];
        new Random(1).nextBytes(noise);
        return noise;
    }

    /** With its checksum beside it, as its publisher has that. */
    private String publish(byte[] archive) {
        bucket.publish("jdk.tar.gz.sha256.txt", Bucket.html(Hashes.sha256(archive) + "  jdk.tar.gz\n"));
        return bucket.publish("jdk.tar.gz", Bucket.whole(archive));
    }

    private void maven(String then) throws IOException {
        tool("mvn", MAVEN.formatted(then));
    }

    private void tool(String name, String script) throws IOException {
        Files.deleteIfExists(tools.resolve(name));
        executable(tools.resolve(name), script.startsWith("#!") ? script : "#!/bin/sh\n" + script + "\n");
    }

    private static void executable(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private static Path link(Path link, Path target) {
        try {
            return Files.createSymbolicLink(link, target);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path search() {
        return checkout.resolve("reconciler/src/main/dist/share/find-java.sh");
    }

    /** All that is in .jdk, hidden or not. */
    private List<String> inJdks() throws IOException {
        if (!Files.exists(checkout.resolve(".jdk"))) {
            return List.of();
        }
        try (Stream<Path> entries = Files.list(checkout.resolve(".jdk"))) {
            return entries.map(entry -> entry.getFileName().toString()).toList();
        }
    }

    /** As the scripts of a checkout look for it. */
    private String found(String tool) throws IOException {
        return run(
                        "/bin/sh",
                        "-euc",
                        "hs_jdks=$PWD/.jdk; hs_tool=" + tool + "; . '" + search() + "'; echo \"$hs_java\"")
                .exits(0)
                .out()
                .strip();
    }

    private Result run(String... words) throws IOException {
        return command(words).await(Patience.LONGEST);
    }

    private Command command(String... words) throws IOException {
        commands++;
        Path out = machine.resolve("out" + commands);
        Path err = machine.resolve("err" + commands);
        Process process = builder(List.of(words))
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        return new Command(String.join(" ", words), process, out, err);
    }

    private Process start(String... words) throws IOException {
        return builder(List.of(words))
                .redirectInput(Path.of("/dev/null").toFile())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    /** ./homeostat version at a terminal, where this answers what it asks. */
    private Result answered(String answer) throws IOException {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/script")), "no script(1) here, which makes terminals");
        Path out = Files.createFile(machine.resolve("terminal"));
        Path err = Files.createFile(machine.resolve("terminal.err"));
        Process process = builder(List.of("/usr/bin/script", "-qfec", "./homeostat version", "/dev/null"))
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        Command command = new Command("version", process, out, err);
        try (OutputStream keys = process.getOutputStream()) {
            eventually().until(() -> command.soFar().contains("[y/N]") || !process.isAlive());
            keys.write((answer + "\r").getBytes(UTF_8));
            keys.flush();
            return command.await(Patience.LONGEST);
        }
    }

    private ProcessBuilder builder(List<String> words) {
        ProcessBuilder builder = new ProcessBuilder(words).directory(checkout.toFile());
        builder.environment().clear();
        builder.environment().putAll(environment);
        return builder;
    }
}
