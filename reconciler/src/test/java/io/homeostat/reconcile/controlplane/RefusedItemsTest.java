package io.homeostat.reconcile.controlplane;

import static io.homeostat.reconcile.controlplane.Messages.apply;
import static io.homeostat.reconcile.controlplane.Messages.install;
import static io.homeostat.reconcile.controlplane.Messages.remove;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ListValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.homeostat.proto.acp.ConfigurePluginStates.Action;
import io.homeostat.proto.acp.ConfigurePluginStates.ConfigurePlugin;
import io.homeostat.proto.acp.PluginInstallationType;
import io.homeostat.reconcile.controlplane.ConfigureHandler.Quota;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Each item of a message stands for itself: what is wrong with one is told of that one, and the others take effect. */
class RefusedItemsTest {
    private static final String PROTECTED = "GuestAgentCorePlugin";

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
    void protectedPluginsAreLeftAloneAndTheOthersAreNot() {
        here.receive(install(PROTECTED, "1"), install("a", "1"), remove(PROTECTED), apply(PROTECTED, "c"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(
                List.of(
                        "CONFIG_INSTALL GuestAgentCorePlugin 1",
                        "INSTALL_FAILED GuestAgentCorePlugin 1",
                        "REMOVE_FAILED GuestAgentCorePlugin",
                        "CONFIG_APPLY_FAILED GuestAgentCorePlugin"),
                here.told());
        assertTrue(here.lastWords().contains("protectedPlugins in agent.yaml"), here.lastWords());
    }

    @Test
    void whatIsNotInstalledDynamicallyIsRefused() {
        here.receive(
                install(
                        "a",
                        "1",
                        item -> item.getManifestBuilder()
                                .setPluginInstallationType(PluginInstallationType.LOCAL_INSTALLATION)),
                install("b", "1", item -> item.getManifestBuilder().setPluginInstallationTypeValue(77)),
                install("c", "1"));

        assertEquals(List.of("c 1 controlPlane 1"), here.inForce());
        assertEquals(
                List.of("CONFIG_INSTALL a 1", "INSTALL_FAILED a 1", "CONFIG_INSTALL b 1", "INSTALL_FAILED b 1"),
                here.told());
        assertTrue(here.lastWords().contains("manifest.plugin_installation_type"), here.lastWords());
    }

    @Test
    void whatNothingCouldVerifyIsRefusedUnlessAgentYamlAllowsIt() {
        ConfigurePlugin unverified =
                install("a", "1", item -> item.getPluginBuilder().clearChecksum());

        here.receive(unverified);

        assertEquals(List.of(), here.inForce());
        assertEquals(List.of("CONFIG_INSTALL a 1", "INSTALL_FAILED a 1"), here.told());
        assertTrue(here.lastWords().contains("plugin.checksum: missing"), here.lastWords());
        assertTrue(here.lastWords().contains("sources.controlPlane.allowUnverified"), here.lastWords());

        here.allowUnverified().receive(unverified);

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
    }

    @Test
    void wrongFieldsAreNamedAndNoSecretIs() {
        here.receive(install("a", "1", item -> {
            item.getPluginBuilder().setChecksum("beef");
            item.getManifestBuilder().setMaxCpuUsagePercentage(-1).setStringConfig("hunter2");
        }));

        assertEquals(List.of(), here.inForce());
        assertEquals(List.of("CONFIG_INSTALL a 1", "INSTALL_FAILED a 1"), here.told());
        assertTrue(here.lastWords().contains("plugin.checksum"), here.lastWords());
        assertTrue(here.lastWords().contains("manifest.max_cpu_usage_percentage"), here.lastWords());
        assertFalse(here.lastWords().contains("s3cr3t"), here.lastWords());
        assertFalse(here.lastWords().contains("hunter2"), here.lastWords());
    }

    @Test
    void anUnknownActionIsRefusedAndNothingElseIsSaidOfIt() {
        here.receive(
                Messages.named(Action.ACTION_UNSPECIFIED, "a").build(),
                Messages.named(Action.APPLY, "b").setActionValue(9).build());

        assertEquals(List.of(), here.inForce());
        assertEquals(
                List.of("CONFIG_INSTALL a", "INSTALL_FAILED a", "CONFIG_INSTALL b", "INSTALL_FAILED b"), here.told());
        assertEquals("refused: action: 9 is not known here; send INSTALL, APPLY or REMOVE", here.lastWords());
    }

    @Test
    void namesAndRevisionsThatAMessageCanCarryAreTaken() {
        for (String name : List.of("a b", "x".repeat(70), "../../etc", "a\n\u001b[31m", "n".repeat(100_000))) {
            here.receive(install(
                    name,
                    "1.2+3:rc 4/" + "r".repeat(50_000),
                    item -> item.getPluginBuilder().setEntryPoint("bin/x")));

            assertEquals(
                    "1.2+3:rc 4/" + "r".repeat(50_000),
                    here.declaration(name).workload().revision());
            assertEquals(List.of(), here.told());
            here.receive(apply(name, "c"));
            assertEquals(2, here.declaration(name).generation());
            here.receive(remove(name)).told();
        }

        assertEquals(List.of(), here.inForce());
    }

    @Test
    void namesThatNoPluginCanHaveAreToldByTheirBeginning() {
        String hostile = "../../etc/".repeat(220_000);
        String told = hostile.substring(0, Quota.MOST_NAMES) + "...";

        here.receive(install(hostile, "1"), remove(hostile), apply(hostile, "c"), install("", "1"), install("a", "1"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(
                List.of(
                        "CONFIG_INSTALL " + told + " 1",
                        "INSTALL_FAILED " + told + " 1",
                        "REMOVE_FAILED " + told,
                        "CONFIG_APPLY_FAILED " + told,
                        "CONFIG_INSTALL  1",
                        "INSTALL_FAILED  1"),
                here.told());
        here.store()
                .events(0, 10)
                .forEach(stored ->
                        assertTrue(stored.event().message().length() < 3_000, "an event as long as what was sent"));
    }

    @Test
    void itemsForTheSameNameCountInTheirOrder() {
        here.receive(
                install("a", "1"),
                install("a", "2"),
                install("b", "1"),
                remove("b"),
                install("c", "1"),
                apply("c", "x"));

        assertEquals(List.of("a 2 controlPlane 1", "c 1 controlPlane 1"), here.inForce());
    }

    @Test
    void whatOneMessageRemovesAndInstallsStaysAndIsNotSaidToBeRemoved() {
        here.receive(install("a", "1")).knownGood("a");

        here.receive(remove("a"), install("a", "1"));

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(
                List.of("CONFIG_REMOVE a 1", "REMOVE_FAILED a 1", "CONFIG_INSTALL a 1", "INSTALLED a 1"), here.told());
    }

    @Test
    void whatAMessageRemovesAndTheNextOneInstallsBeforeAnybodyLooksIsNotSaidToBeRemoved() {
        here.receive(install("a", "1")).knownGood("a").receive(remove("a")).told();

        here.receive(install("a", "1"));

        assertEquals(List.of("a 1 controlPlane 2"), here.inForce());
        assertEquals(
                List.of("CONFIG_REMOVE a 1", "REMOVE_FAILED a 1", "CONFIG_INSTALL a 1", "INSTALLED a 1"), here.told());
    }

    @Test
    void whatAMessageRemovesAndTheNextOneInstallsWithAnotherRevisionIsToldByTheLoop() {
        here.receive(install("a", "1")).knownGood("a").receive(remove("a")).told();

        here.receive(install("a", "2"));

        assertEquals(List.of(), here.told());
    }

    @Test
    void aControlPlaneDeclaresOnlySoManyPlugins() {
        here.receive(IntStream.range(0, ConfigureHandler.MOST_PLUGINS)
                .mapToObj(i -> install("p" + i, "1"))
                .toArray(ConfigurePlugin[]::new));

        here.receive(install("p0", "2"), install("one-more", "1"));

        assertEquals(ConfigureHandler.MOST_PLUGINS, here.inForce().size());
        assertEquals("2", here.declaration("p0").workload().revision());
        assertEquals(List.of("CONFIG_INSTALL one-more 1", "INSTALL_FAILED one-more 1"), here.told());
    }

    @Test
    void aControlPlaneDeclaresOnlySoMuchAndWhatIsThereMayBeChangedAndRemoved() {
        String half = "x".repeat((int) (Quota.MOST / 2) - 10_000);
        here.receive(configured("a", half), configured("b", half)).told();

        here.receive(configured("c", half), install("d", "1"), apply("d", half), apply("a", "short"), apply("d", half));

        assertEquals(List.of("a 1 controlPlane 2", "b 1 controlPlane 1", "d 1 controlPlane 1"), here.inForce());
        assertEquals(List.of("CONFIG_INSTALL c 1", "INSTALL_FAILED c 1", "CONFIG_APPLY_FAILED d"), here.told());
        here.receive(remove("b"), configured("c", half));
        assertEquals(List.of("a 1 controlPlane 2", "c 1 controlPlane 1", "d 1 controlPlane 1"), here.inForce());
    }

    @Test
    void aMessageOfCountlessSmallThingsIsRefusedBeforeTheyTakeMuchMoreRoomThanInTheMessage() {
        here.receive(install("a", "1"));
        ListValue.Builder countless = ListValue.newBuilder();
        for (int i = 0; i < 700_000; i++) {
            countless.addValues(Value.newBuilder().setStringValue("a"));
        }
        Struct struct = Struct.newBuilder()
                .putFields("a", Value.newBuilder().setListValue(countless).build())
                .build();
        ConfigurePlugin.Builder applied = Messages.named(Action.APPLY, "a");
        applied.getManifestBuilder().setStructConfig(struct);

        here.receive(
                install("b", "1", item -> item.getManifestBuilder().setStructConfig(struct)),
                install("c", "1", item -> item.getPluginBuilder().addAllArguments(Collections.nCopies(100_001, ""))),
                applied.build());

        assertEquals(List.of("a 1 controlPlane 1"), here.inForce());
        assertEquals(
                List.of(
                        "CONFIG_INSTALL b 1",
                        "INSTALL_FAILED b 1",
                        "CONFIG_INSTALL c 1",
                        "INSTALL_FAILED c 1",
                        "CONFIG_APPLY_FAILED a"),
                here.told());
        assertTrue(here.lastWords().contains("more than 100000"), here.lastWords());
    }

    @Test
    void noRevisionIsRefused() {
        here.receive(install("a", ""));

        assertEquals(List.of("CONFIG_INSTALL a", "INSTALL_FAILED a"), here.told());
        assertTrue(here.lastWords().contains("plugin.revision_id"), here.lastWords());
    }

    @Test
    void namesAndRevisionsAreTakenAsFarAsOneMessageCanCarryTheStatesOfAllPlugins() {
        String most = "r".repeat(Quota.MOST_NAMES / 2);
        here.receive(install("a", most.substring(1))).told();

        here.receive(install("bc", "1"), install("b", most), install("a", most));

        assertEquals(List.of("a " + most.substring(1) + " controlPlane 1"), here.inForce());
        assertEquals(
                List.of(
                        "CONFIG_INSTALL bc 1",
                        "INSTALL_FAILED bc 1",
                        "CONFIG_INSTALL b " + most,
                        "INSTALL_FAILED b " + most,
                        "CONFIG_INSTALL a " + most,
                        "INSTALL_FAILED a " + most),
                here.told());
        assertTrue(
                here.lastWords()
                        .contains(
                                " MiB, and no message could carry the states of all; send shorter ones, or REMOVE some"
                                        + " plugins first"),
                here.lastWords());
        here.receive(install("a", "1"), install("bc", "1"));
        assertEquals(List.of("a 1 controlPlane 2", "bc 1 controlPlane 1"), here.inForce());
    }

    @Test
    void aLongRevisionThatMayRunInThePlaceOfAShortOneIsCounted() {
        String most = "r".repeat(Quota.MOST_NAMES / 2 - 10);
        here.receive(install("a", most)).knownGood("a").receive(install("a", "2"));

        here.receive(install("b", most));
        assertEquals(List.of("a 2 controlPlane 2"), here.inForce());
        assertTrue(here.lastWords().contains("could carry"), here.lastWords());

        here.knownGood("a").receive(install("b", most.substring(10)));
        assertEquals(2, here.inForce().size());
    }

    private static ConfigurePlugin configured(String name, String config) {
        return install(name, "1", item -> item.getManifestBuilder().setStringConfig(config));
    }

    @Test
    void whatIsSentAgainIsDeclaredStateAndTakenAgain() {
        here.receive(install("a", "1")).receive(install("a", "2")).told();

        here.receive(install("a", "1"), remove("x"));

        assertEquals(List.of("a 1 controlPlane 3"), here.inForce());
        assertEquals(List.of("REMOVE_FAILED x"), here.told());
    }
}
