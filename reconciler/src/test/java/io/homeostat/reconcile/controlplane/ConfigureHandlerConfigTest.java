package io.homeostat.reconcile.controlplane;

import static io.homeostat.reconcile.controlplane.Messages.apply;
import static io.homeostat.reconcile.controlplane.Messages.install;
import static io.homeostat.reconcile.controlplane.Messages.remove;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableList;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.homeostat.desired.model.Config;
import io.homeostat.desired.model.PluginSpec;
import io.homeostat.desired.model.Program;
import io.homeostat.desired.model.SourceName;
import io.homeostat.desired.state.history.WorkloadHistory.Apply;
import io.homeostat.desired.state.history.WorkloadHistory.FailedRevision;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a message changes that has a configuration for a plugin. */
class ConfigureHandlerConfigTest {
    @TempDir
    Path directory;

    private Declaring here;

    @BeforeEach
    void open() {
        here = new Declaring(directory);
    }

    @AfterEach
    void close() {
        here.close();
    }

    @Test
    void applyChangesTheConfigurationAndNothingElse() {
        here.receive(install("a", "1", item -> item.getPluginBuilder().addArguments("-v")))
                .knownGood("a");
        Program before = program("a");

        here.receive(apply("a", "level: debug"));

        assertEquals(List.of("a 1 controlPlane 2"), here.inForce());
        assertEquals(before, program("a"));
        assertEquals(new Config("level: debug", null), config("a"));
        assertEquals(List.of(), here.told());
    }

    @Test
    void applyWithoutAConfigurationTakesItAway() {
        here.receive(install("a", "1", item -> item.getManifestBuilder().setStringConfig("old")));

        here.receive(Messages.named(Action.APPLY, "a").build());

        assertNull(config("a"));
    }

    @Test
    void applyToWhatAnotherSourceDeclaresDeclaresACopyWithTheNewConfiguration() {
        here.declaredBy(SourceName.FILES, install("a", "1"));
        Program before = program("a");

        here.receive(apply("a", "level: debug"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(ImmutableList.of(SourceName.FILES), here.declaration("a").overruled());
        assertEquals(before, program("a"));
        assertEquals(new Config("level: debug", null), config("a"));
    }

    @Test
    void aConfigurationThatThePluginHasAlreadyIsSaidToBeApplied() {
        here.receive(install("a", "1", item -> item.getManifestBuilder().setStringConfig("same")))
                .knownGood("a");

        here.receive(apply("a", "same"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(List.of("CONFIG_APPLY a 1", "CONFIG_APPLIED a 1"), here.told());
    }

    @Test
    void aConfigurationThatIsStillBeingBroughtAboutIsLeftToTheLoopToTell() {
        here.receive(install("a", "1", item -> item.getManifestBuilder().setStringConfig("same")))
                .looked("a");

        here.receive(apply("a", "same"));

        assertEquals(List.of(), here.told());
    }

    @Test
    void theLoopHasToConcludeEveryApplyThatWasTakenAndNotAnsweredAtOnce() {
        here.receive(install("a", "1"), apply("a", "c"));
        assertEquals(List.of(), here.told());
        assertEquals(hash("c"), Objects.requireNonNull(asked("a")).config());

        here.receive(apply("a", "c"));
        assertEquals(List.of(), here.told());
        assertEquals(hash("c"), Objects.requireNonNull(asked("a")).config());

        here.knownGood("a").receive(apply("a", "c"));
        assertEquals(List.of("CONFIG_APPLY a 1", "CONFIG_APPLIED a 1"), here.told());
        assertNull(asked("a"));
    }

    @Test
    void anApplyOfWhatAnotherSourceDeclaresIsAnsweredWhenItIsOvertaken() {
        here.declaredBy(
                SourceName.FILES,
                install("a", "1", item -> item.getManifestBuilder().setStringConfig("same")));
        here.looked("a").receive(apply("a", "same"));
        assertEquals(hash("same"), Objects.requireNonNull(asked("a")).config());

        here.receive(apply("a", "other"));

        assertEquals(List.of("CONFIG_APPLY a 1", "CONFIG_APPLY_FAILED a 1"), here.told());
        assertEquals(hash("other"), Objects.requireNonNull(asked("a")).config());
    }

    @Test
    void anApplyThatIsOvertakenIsToldSo() {
        here.receive(install("a", "1")).looked("a");
        String first = here.declaration("a").hash();

        here.receive(apply("a", "c"));
        here.receive(apply("a", "d"));

        assertEquals(List.of("CONFIG_APPLY a 1", "CONFIG_APPLY_FAILED a 1"), here.told());
        assertTrue(here.lastWords().contains("a later one"), here.lastWords());
        assertEquals(new Apply(hash("d"), first), asked("a"));

        here.receive(install("a", "2"));
        assertEquals(List.of("CONFIG_APPLY a 1", "CONFIG_APPLY_FAILED a 1"), here.told());
        assertNull(asked("a"));

        here.receive(apply("a", "e")).receive(remove("a"));
        assertEquals(
                List.of("CONFIG_APPLY a 2", "CONFIG_APPLY_FAILED a 2"),
                here.told().subList(0, 2));
        assertNull(asked("a"));
    }

    @Test
    void aConfigurationThatWasTriedAndUndoneIsToldToHaveFailed() {
        here.receive(install("a", "1")).knownGood("a").receive(apply("a", "c")).looked("a");
        FailedRevision failed = new FailedRevision(declared("a"), "1", 1, Declaring.NOW, "never started");
        here.remember("a", here.history("a").withFailed(failed));

        here.receive(apply("a", "c"));

        assertEquals(List.of("CONFIG_APPLY a 1", "CONFIG_APPLY_FAILED a 1"), here.told());
        assertTrue(here.lastWords().contains("never started"), here.lastWords());
    }

    private static String hash(String config) {
        return Config.hash(new Config(config, null));
    }

    private String declared(String name) {
        return here.declaration(name).hash();
    }

    private @Nullable Apply asked(String name) {
        return here.history(name).asked().apply();
    }

    @Test
    void nothingCanBeAppliedToAnUnknownName() {
        here.receive(apply("a", "secret-config"));

        assertEquals(List.of("CONFIG_APPLY_FAILED a"), here.told());
        assertTrue(here.lastWords().contains("INSTALL it first"), here.lastWords());
        assertFalse(here.lastWords().contains("secret-config"), here.lastWords());
    }

    @Test
    void aConfigurationThatIsNoneIsRefused() {
        here.receive(install("a", "1"));
        ConfigurePlugin.Builder item = Messages.named(Action.APPLY, "a");
        item.getManifestBuilder()
                .setStructConfig(Struct.newBuilder()
                        .putFields(
                                "x",
                                Value.newBuilder().setNumberValue(Double.NaN).build()));

        here.receive(item.build());

        assertEquals(List.of("CONFIG_APPLY_FAILED a"), here.told());
        assertTrue(here.lastWords().contains("manifest.struct_config"), here.lastWords());
        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
    }

    private Program program(String name) {
        return here.declaration(name).workload().program();
    }

    private @Nullable Config config(String name) {
        return ((PluginSpec) here.declaration(name).workload().spec()).config();
    }
}
