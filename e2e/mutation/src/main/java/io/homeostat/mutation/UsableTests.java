package io.homeostat.mutation;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.pitest.coverage.CoverageResult;
import org.pitest.coverage.TestInfo;
import org.pitest.coverage.TestStatListener;
import org.pitest.coverage.TestStatListenerFactory;
import org.pitest.mutationtest.build.TestFilter;
import org.pitest.mutationtest.build.TestFilterFactory;
import org.pitest.mutationtest.build.TestFilterParams;
import org.pitest.mutationtest.engine.MutationDetails;
import org.pitest.plugin.Feature;
import org.pitest.util.ResultOutputStrategy;

/** Tests that succeed quickly without a mutation. Others are not used and are listed by name. */
final class UsableTests implements TestFilterFactory, TestFilter, TestStatListenerFactory, TestStatListener {

    private final Duration slow;
    private final Set<String> slowTests = new ConcurrentSkipListSet<>();
    private final Set<String> failedTests = new ConcurrentSkipListSet<>();
    private final AtomicInteger count = new AtomicInteger();

    UsableTests(Duration slow) {
        this.slow = slow;
    }

    int count() {
        return count.get();
    }

    Set<String> slowTests() {
        return slowTests;
    }

    Set<String> failedTests() {
        return failedTests;
    }

    @Override
    public void accept(CoverageResult result) {
        String test = TestNames.shorten(result.getTestUnitDescription().getName());
        if (!result.isGreenTest()) {
            failedTests.add(test);
        } else if (result.getExecutionTime() > slow.toMillis()) {
            slowTests.add(test);
        } else {
            count.incrementAndGet();
        }
    }

    @Override
    public boolean include(TestInfo test, MutationDetails mutant) {
        return test.getTime() <= slow.toMillis();
    }

    @Override
    public TestFilter makeFilter(TestFilterParams parameters) {
        return this;
    }

    @Override
    public TestStatListener createTestListener(ResultOutputStrategy output) {
        return this;
    }

    @Override
    public List<String> messages() {
        return List.of();
    }

    @Override
    public void end() {}

    @Override
    public Feature provides() {
        return Feature.named("homeostattests").withOnByDefault(true).asInternalFeature();
    }

    @Override
    public String description() {
        return "Tests that are fast";
    }
}
