package io.homeostat.mutation;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.constantpool.ClassEntry;
import java.lang.classfile.constantpool.PoolEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Classes of a package and the test classes that may notice a change of them.
 *
 * @param classes classes of the package, with nested ones, without those of packages below it
 * @param tests top-level test classes of the same module
 */
record Selection(Set<String> classes, Set<String> tests) {

    private static final Pattern TEST_CLASS = Pattern.compile("\\.Test[^.$]*$|Tests?$|TestCase$");

    /** Selects by the options; the classes of the module and of its tests are compiled. */
    static Selection of(ModulePackage subject, Options options) throws IOException {
        String prefix = name(subject.classes(), subject.directory());
        Set<String> classes;
        try (Stream<Path> files = Files.list(subject.directory())) {
            classes = files.filter(Selection::isClassFile)
                    .map(file -> name(subject.classes(), file))
                    .filter(name -> !name.endsWith("package-info"))
                    .collect(Collectors.toCollection(TreeSet::new));
        }
        Set<String> tests = tests(prefix, subject, options);
        // A package without tests of its own may be tested by way of the package that encloses it.
        for (String enclosing = parent(prefix); tests.isEmpty() && !isRoot(enclosing); enclosing = parent(enclosing)) {
            tests = tests(enclosing, subject, options);
        }
        return new Selection(classes, tests);
    }

    private static Set<String> tests(String packageName, ModulePackage subject, Options options) throws IOException {
        Set<String> tests = new TreeSet<>();
        Pattern wanted = options.tests();
        try (Stream<Path> files = Files.walk(subject.testClasses())) {
            for (Path file : (Iterable<Path>) files.filter(Selection::isClassFile)::iterator) {
                String name = name(subject.testClasses(), file).replaceFirst("\\$.*", "");
                if (!TEST_CLASS.matcher(name).find()
                        || options.without().matcher(name).find()) {
                    continue;
                }
                if (wanted != null ? wanted.matcher(name).find() : isIn(packageName, name) || uses(packageName, file)) {
                    tests.add(name);
                }
            }
        }
        return tests;
    }

    private static String parent(String packageName) {
        return packageName.substring(0, packageName.lastIndexOf('.'));
    }

    /** Returns whether a package is {@code io.homeostat} or the one package of a module directly below it. */
    private static boolean isRoot(String packageName) {
        return packageName.chars().filter(c -> c == '.').count() <= 2;
    }

    private static boolean isClassFile(Path file) {
        return file.toString().endsWith(".class");
    }

    private static String name(Path root, Path file) {
        return root.relativize(file).toString().replaceFirst("\\.class$", "").replace('/', '.');
    }

    private static boolean isIn(String packageName, String className) {
        return className.lastIndexOf('.') == packageName.length() && className.startsWith(packageName);
    }

    private static boolean uses(String packageName, Path file) throws IOException {
        ClassModel model = ClassFile.of().parse(file);
        for (PoolEntry entry : model.constantPool()) {
            if (entry instanceof ClassEntry used
                    && isIn(packageName, used.asInternalName().replace('/', '.'))) {
                return true;
            }
        }
        return false;
    }
}
