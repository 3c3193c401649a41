package io.homeostat.desired.hcl;

import java.util.List;

/** Collects what is wrong, each as a sentence about its place. */
final class Problems {
    /** Of one configuration; nobody reads more. */
    private static final int MOST = 1_000;

    private final List<ConfigProblem> found;

    Problems(List<ConfigProblem> found) {
        this.found = found;
    }

    /** @param what the sentence without its subject */
    void add(List<Object> path, String what) {
        ConfigProblem problem = new ConfigProblem(path, subject(path) + " " + what);
        if (found.size() < MOST && !found.contains(problem)) {
            found.add(problem);
        }
    }

    private static String subject(List<Object> path) {
        Object key = null;
        for (Object step : path) {
            key = step instanceof String ? step : key;
        }
        if (key == null) {
            return "the configuration";
        }
        return path.getLast() instanceof Integer index
                ? "element " + (index + 1) + " of \"" + key + "\""
                : "\"" + key + "\"";
    }
}
