package io.homeostat.reconcile;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.assignableTo;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.core.domain.properties.HasOwner.Predicates.With.owner;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.common.collect.ImmutableListMultimap;
import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import io.homeostat.desired.model.Kind;
import io.homeostat.desired.model.ProcessSpec;
import io.homeostat.desired.model.WorkloadSpec;
import io.homeostat.desired.platform.HttpRequests;
import io.homeostat.observe.health.PluginChannel;
import io.homeostat.reconcile.runtime.timer.TimerKind;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.time.Clock;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** The module and purity rules: what the picture of the architecture shows is what the code does. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ArchitectureTest {
    /** Not static: it takes more memory than all other tests together, and is of no use after them. */
    private final JavaClasses all = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            // The fake control plane is a library for tests. What is generated is in a module that knows no other one,
            // and is
            // most of all bytecode.
            .withImportOption(location ->
                    !location.contains("io/homeostat/controlplane/") && !location.contains("io/homeostat/proto/"))
            .importPackages("io.homeostat");

    @Test
    void dependenciesPointDown() {
        layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .layer("desired-state")
                .definedBy("io.homeostat.desired..")
                .layer("observers")
                .definedBy("io.homeostat.observe..")
                .layer("actuators")
                .definedBy("io.homeostat.actuate..")
                .layer("reconciler")
                .definedBy("io.homeostat.reconcile..")
                .whereLayer("reconciler")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("actuators")
                .mayOnlyBeAccessedByLayers("reconciler")
                .whereLayer("observers")
                .mayOnlyBeAccessedByLayers("actuators", "reconciler")
                .whereLayer("desired-state")
                .mayOnlyBeAccessedByLayers("observers", "actuators", "reconciler")
                .check(all);
    }

    @Test
    void withinTheReconcilerDependenciesPointDownToo() {
        layeredArchitecture()
                .consideringOnlyDependenciesInLayers()
                .layer("plan")
                .definedBy("..reconcile.plan..")
                .layer("runtime")
                .definedBy("..reconcile.runtime..")
                .layer("record")
                .definedBy("..reconcile.record..")
                .layer("loop")
                .definedBy("..reconcile.loop..")
                .layer("logs")
                .definedBy("..reconcile.logs..")
                .layer("status")
                .definedBy("..reconcile.status..")
                .layer("secrets")
                .definedBy("..reconcile.secrets..")
                .layer("controlplane")
                .definedBy("..reconcile.controlplane..")
                .layer("fleet")
                .definedBy("..reconcile.fleet..")
                .layer("command")
                .definedBy("..reconcile.command..")
                .layer("agent")
                .definedBy("..reconcile.agent..")
                .layer("cli")
                .definedBy("..reconcile.cli..")
                .whereLayer("cli")
                .mayNotBeAccessedByAnyLayer()
                .whereLayer("agent")
                .mayOnlyBeAccessedByLayers("cli")
                .whereLayer("command")
                .mayOnlyBeAccessedByLayers("agent", "cli")
                .whereLayer("controlplane")
                .mayOnlyBeAccessedByLayers("command", "agent", "cli")
                .whereLayer("fleet")
                .mayOnlyBeAccessedByLayers("command", "agent", "cli")
                .whereLayer("fleet")
                .mayNotAccessAnyLayer()
                .whereLayer("runtime")
                .mayOnlyBeAccessedByLayers("loop", "command", "agent")
                .whereLayer("loop")
                .mayOnlyBeAccessedByLayers("command", "agent", "cli")
                .whereLayer("logs")
                .mayOnlyBeAccessedByLayers("loop", "status", "command", "agent")
                .whereLayer("secrets")
                .mayOnlyBeAccessedByLayers("logs", "runtime", "status", "command", "agent", "cli")
                .check(all);
    }

    private static ArchRule whichKindAWorkloadIsOnlyItsOwnPackagesAsk() {
        return noClasses()
                .that()
                .resideOutsideOfPackages(
                        "io.homeostat.desired.model..",
                        // Manifests of the guest agent declare plugins.
                        "io.homeostat.desired.source..",
                        // One a kind.
                        "..reconcile.runtime.*..",
                        "..reconcile.controlplane..",
                        "..reconcile.command.plugin..")
                .should()
                .dependOnClassesThat(describe(
                        "are declarations of one kind",
                        type -> type.isAssignableTo(WorkloadSpec.class) && !type.isInterface()))
                .orShould()
                .accessFieldWhere(describe(
                        "it is the constant of a kind",
                        access -> access.getTarget().getRawType().isEquivalentTo(Kind.class)
                                && access.getTarget()
                                        .resolveMember()
                                        .filter(field -> field.getModifiers().contains(JavaModifier.STATIC))
                                        .isPresent()));
    }

    @Test
    void nobodyElseAsksWhichKindAWorkloadIs() {
        whichKindAWorkloadIsOnlyItsOwnPackagesAsk().check(all);
    }

    /** The simulation does, of a kind that no main class knows either. */
    @Test
    void whoAsksForAnyKindIsFound() {
        JavaClasses simulation = new ClassFileImporter()
                .importPackages(
                        "io.homeostat.reconcile.sim",
                        "io.homeostat.reconcile.runtime.timer",
                        "io.homeostat.desired.model");

        String found = whichKindAWorkloadIsOnlyItsOwnPackagesAsk()
                .allowEmptyShould(false)
                .evaluate(simulation)
                .getFailureReport()
                .toString();

        assertTrue(found.contains("gets field <" + TimerKind.class.getName() + ".TIMER>"), found);
        assertTrue(found.contains("<" + ProcessSpec.class.getName()), found);
    }

    @Test
    void thePluginProtocolIsSpokenByWhatIsForPluginsOnly() {
        noClasses()
                .that()
                .resideOutsideOfPackages(
                        "io.homeostat.observe.health..",
                        "io.homeostat.actuate.launch..",
                        "..reconcile.runtime.plugin..",
                        "..reconcile.command.plugin..")
                .and()
                // Loads what the program will need.
                .doNotHaveSimpleName("SelfTraining")
                .should()
                .dependOnClassesThat()
                .belongToAnyOf(PluginChannel.class)
                .check(all);
    }

    @Test
    void thePlannerIsPure() {
        noClasses()
                .that()
                .resideInAnyPackage("..reconcile.plan..", "..reconcile.record..")
                .or()
                .haveSimpleNameStartingWith("FleetPlanner")
                .or()
                .haveSimpleNameStartingWith("Standing")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "java.io..",
                        "java.net..",
                        "java.nio.channels..",
                        "java.util.concurrent..",
                        "java.util.random..",
                        "org.slf4j..",
                        "io.homeostat.actuate..",
                        "io.homeostat.proto..")
                .orShould()
                .dependOnClassesThat()
                .belongToAnyOf(
                        Thread.class, ProcessBuilder.class, ProcessHandle.class, Files.class, Clock.class, Random.class)
                .check(all);
    }

    @Test
    void whatChangesNothingHasNoActuators() {
        noClasses()
                .that()
                .resideInAPackage("..reconcile.status..")
                .or()
                .haveSimpleName("Workspace")
                .or()
                .haveSimpleName("InstanceObservers")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("io.homeostat.actuate..")
                .orShould()
                .dependOnClassesThat()
                .haveSimpleName("Runtimes")
                .check(all);
    }

    @Test
    void nobodyReadsTheClockBehindItsCallersBack() {
        DescribedPredicate<JavaCall<?>> now = describe(
                "the system's clock",
                call -> (call.getTargetOwner().isEquivalentTo(Instant.class)
                                && call.getName().equals("now"))
                        || (call.getTargetOwner().isEquivalentTo(System.class)
                                && (call.getName().equals("currentTimeMillis")
                                        || call.getName().equals("nanoTime"))));
        noClasses().should().callMethodWhere(now).check(all);
    }

    @Test
    void clientsOfWebServersCheckWhatTheyGet() {
        noClasses()
                .that()
                .areNotAssignableTo(HttpRequests.class)
                .should()
                .callMethodWhere(target(owner(assignableTo(HttpClient.class))).and(target(nameMatching("new.*"))))
                .check(all);
    }

    @Test
    void packagesOfObserversAndActuatorsAreFreeOfCycles() {
        slices().matching("io.homeostat.observe.(*)..")
                .should()
                .beFreeOfCycles()
                .check(all);
        slices().matching("io.homeostat.actuate.(*)..")
                .should()
                .beFreeOfCycles()
                .check(all);
    }

    @Test
    void whatIsDeclaredKnowsNothingOfWhatIsRemembered() {
        noClasses()
                .that()
                .resideInAnyPackage("io.homeostat.desired.model..", "io.homeostat.desired.yaml..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("io.homeostat.desired.state..", "io.homeostat.desired.source..")
                .check(all);
    }

    @Test
    void observersChangeNoFile() {
        noClasses()
                .that()
                .resideInAPackage("io.homeostat.observe..")
                .should()
                .callMethodWhere(target(owner(assignableTo(Files.class)))
                        .and(target(nameMatching(
                                "(write|delete|move|copy|create|set|newOutputStream|newBufferedWriter).*"))))
                .check(all);
    }

    @Test
    void desiredStateKnowsNothingOfProcesses() {
        noClasses()
                .that()
                .resideInAPackage("io.homeostat.desired..")
                .should()
                .dependOnClassesThat()
                .belongToAnyOf(ProcessBuilder.class, Process.class)
                .check(all);
    }

    @Test
    void namesSayWhatAClassIs() {
        noClasses()
                .should()
                .haveNameMatching(".*(Manager|Helper|Util|Utils|Impl)")
                .check(all);
    }

    @Test
    void noTwoClassesHaveOneName() {
        ImmutableListMultimap<String, JavaClass> byName = all.stream()
                .filter(each -> each.isTopLevelClass() && !each.getSimpleName().equals("package-info"))
                .collect(ImmutableListMultimap.toImmutableListMultimap(JavaClass::getSimpleName, each -> each));
        assertEquals(
                List.of(),
                byName.asMap().values().stream().filter(each -> each.size() > 1).toList());
    }

    @Test
    void whatNobodyExtendsIsFinal() {
        classes()
                .that()
                .areNotInterfaces()
                .and()
                .areNotEnums()
                .and()
                .areTopLevelClasses()
                .and(describe("nobody extends", c -> c.getSubclasses().isEmpty()))
                .should()
                .haveModifier(JavaModifier.FINAL)
                .check(all);
    }
}
