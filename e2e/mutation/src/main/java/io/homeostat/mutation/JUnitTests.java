package io.homeostat.mutation;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.pitest.classinfo.ClassByteArraySource;
import org.pitest.help.PitHelpError;
import org.pitest.testapi.AbstractTestUnit;
import org.pitest.testapi.Configuration;
import org.pitest.testapi.Description;
import org.pitest.testapi.ResultCollector;
import org.pitest.testapi.TestGroupConfig;
import org.pitest.testapi.TestPluginFactory;
import org.pitest.testapi.TestSuiteFinder;
import org.pitest.testapi.TestUnit;
import org.pitest.testapi.TestUnitExecutionListener;
import org.pitest.testapi.TestUnitFinder;

/**
 * Finds and runs tests of JUnit Jupiter in the JVM that has the mutants. A test method is one test, however many times it is repeated.
 *
 * <p>PIT's own plugin takes several times as long: it finds tests by running them, again for each mutated class, and runs each
 * repetition alone.
 */
public final class JUnitTests implements TestPluginFactory, Configuration, TestUnitFinder {

    private final Launcher launcher = LauncherFactory.create();

    /** For {@link java.util.ServiceLoader}. */
    public JUnitTests() {}

    @Override
    public Configuration createTestFrameworkConfiguration(
            TestGroupConfig groups,
            ClassByteArraySource source,
            Collection<String> excludedRunners,
            Collection<String> includedTestMethods) {
        return this;
    }

    @Override
    public List<TestUnit> findTestUnits(Class<?> type, TestUnitExecutionListener listener) {
        List<TestUnit> tests = new ArrayList<>();
        if (type.getEnclosingClass() == null) {
            TestPlan plan = launcher.discover(request()
                    .selectors(DiscoverySelectors.selectClass(type.getName()))
                    .build());
            plan.getRoots()
                    .forEach(root -> plan.getDescendants(root).stream()
                            .filter(JUnitTests::isMethod)
                            .forEach(test -> tests.add(new Test(new Description(test.getUniqueId(), type), launcher))));
        }
        return tests;
    }

    private static boolean isMethod(TestIdentifier test) {
        return test.getSource().filter(MethodSource.class::isInstance).isPresent();
    }

    /** Tests in parallel would be mistaken for each other where PIT asks which of them runs a line. */
    private static LauncherDiscoveryRequestBuilder request() {
        return LauncherDiscoveryRequestBuilder.request()
                .filters(EngineFilter.includeEngines("junit-jupiter"))
                .configurationParameter("junit.jupiter.execution.parallel.enabled", "false");
    }

    @Override
    public TestUnitFinder testUnitFinder() {
        return this;
    }

    @Override
    public TestSuiteFinder testSuiteFinder() {
        return type -> List.of();
    }

    @Override
    public Optional<PitHelpError> verifyEnvironment() {
        return Optional.empty();
    }

    @Override
    public String name() {
        return "homeostat";
    }

    @Override
    public String description() {
        return "Tests of JUnit Jupiter";
    }

    /** A test method. */
    private static final class Test extends AbstractTestUnit {

        private final Launcher launcher;
        private final LauncherDiscoveryRequest request;

        Test(Description description, Launcher launcher) {
            super(description);
            this.launcher = launcher;
            request = request()
                    .selectors(DiscoverySelectors.selectUniqueId(description.getName()))
                    .build();
        }

        @Override
        public void execute(ResultCollector results) {
            AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
            results.notifyStart(getDescription());
            launcher.execute(request, new TestExecutionListener() {
                @Override
                public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                    if (result.getStatus() == TestExecutionResult.Status.FAILED) {
                        failure.compareAndSet(
                                null, result.getThrowable().orElseGet(() -> new AssertionError(test.getDisplayName())));
                    }
                }
            });
            Throwable first = failure.get();
            if (first == null) {
                results.notifyEnd(getDescription());
            } else {
                results.notifyEnd(getDescription(), first);
            }
        }
    }
}
