// SPDX-FileCopyrightText: 2026 The Trainyard authors
// SPDX-License-Identifier: Apache-2.0
//
// The number field under a German locale: what is typed is understood or visibly refused, and only
// valid values are told (case A33).
#include "ui/theme/theme.h"
#include "ui/widgets/number_field.h"

#include <QAccessible>
#include <QApplication>
#include <QLineEdit>
#include <QScrollArea>
#include <QSignalSpy>
#include <QTest>
#include <QVBoxLayout>
#include <QWheelEvent>

using namespace trainyard::ui;

class TestNumberField : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void init();
    void cleanup() { delete m_window; }
    void cleanupTestCase() { delete m_theme; }
    void commaAndPointAreTheSame();
    void refusesVisiblyAndKeepsTheText();
    void tellsOnlyValidValues();
    void saysTheRange();
    void keys();
    void stepsOfRealNumbers();
    void wheelOnlyWithFocus();
    void optionalMayBeEmpty();
    void setValueEmitsNothing();
    void accessible();

private:
    void type(const char* text);
    QLineEdit* edit() const { return m_field->findChild<QLineEdit*>(); }
    Theme* m_theme = nullptr;
    QWidget* m_window = nullptr;
    NumberField* m_field = nullptr;
    FieldMessage* m_message = nullptr;
};

void TestNumberField::initTestCase() {
    QLocale::setDefault(QLocale(QStringLiteral("de_DE")));
    m_theme = new Theme(*qApp, Theme::Setting::Light);
}

void TestNumberField::init() {
    m_window = new QWidget;
    auto* layout = new QVBoxLayout(m_window);
    m_field = new NumberField(*m_theme, NumberField::Kind::Real, QStringLiteral("Learning rate"));
    m_field->setRange(0, 10, true);
    m_field->setValue(0.1);
    m_message = new FieldMessage(*m_theme);
    m_message->follow(m_field);
    layout->addWidget(new QLineEdit);
    layout->addWidget(m_field);
    layout->addWidget(m_message);
    m_window->show();
    QVERIFY(QTest::qWaitForWindowActive(m_window));
    m_field->setFocus();
    QTRY_VERIFY(edit()->hasSelectedText());
}

void TestNumberField::type(const char* text) {
    edit()->selectAll();
    QTest::keyClicks(m_field, QString::fromLatin1(text));
}

void TestNumberField::commaAndPointAreTheSame() {
    QCOMPARE(m_field->locale().decimalPoint(), QStringLiteral(","));
    QCOMPARE(edit()->text(), QStringLiteral("0,1"));
    for (const char* text : {"0,001", "0.001", "1e-3"}) {
        m_field->setValue(5.0);
        type(text);
        QCOMPARE(edit()->text(), QString::fromLatin1(text));
        QCOMPARE(*m_field->value(), 0.001);
        QVERIFY(m_field->problem().isEmpty());
        QTest::keyClick(m_field, Qt::Key_Return);
        QCOMPARE(edit()->text(), QStringLiteral("0,001"));
    }
}

void TestNumberField::refusesVisiblyAndKeepsTheText() {
    const QImage before = m_field->grab().toImage();
    for (const char* text : {"0,0.1", "1.000", "abc", "12", "0", "-1"}) {
        m_field->setValue(0.1);
        type(text);
        QVERIFY2(!m_field->problem().isEmpty(), text);
        QVERIFY(m_message->isVisible());
        QCOMPARE(m_message->text(), m_field->problem());
        QVERIFY(m_field->property("invalid").toBool());
        QTest::keyClick(m_field, Qt::Key_Tab);
        QCOMPARE(edit()->text(), QString::fromLatin1(text));
        m_field->setFocus();
    }
    const QImage after = m_field->grab().toImage();
    const QPoint ring(0, before.height() / 2);
    QCOMPARE(after.pixelColor(ring), m_theme->tone(State::Failed).solid);
    QVERIFY(before.pixelColor(ring) != after.pixelColor(ring));
    type("0,5");
    QVERIFY(!m_message->isVisible());
    QVERIFY(!m_field->property("invalid").toBool());
}

void TestNumberField::tellsOnlyValidValues() {
    QSignalSpy told(m_field, &NumberField::valueChanged);
    // Passes 0 (not above 0), "0," and "0,0" (still 0) and "0,00" before it is a value.
    type("0,001");
    QCOMPARE(told.count(), 1);
    QCOMPARE(*told.at(0).at(0).value<std::optional<double>>(), 0.001);
    told.clear();
    // "9" is valid on the way, "99" is not.
    type("99");
    QCOMPARE(told.count(), 1);
    QCOMPARE(*m_field->value(), 9.0);
    QVERIFY(!m_field->problem().isEmpty());
}

void TestNumberField::saysTheRange() {
    type("99,5");
    QVERIFY(m_field->problem().contains(QStringLiteral("99,5")));
    QVERIFY(m_field->problem().contains(QStringLiteral("10")));
    NumberField whole(*m_theme, NumberField::Kind::Whole, QStringLiteral("Filters"));
    whole.setRange(1, 999);
    QCOMPARE(whole.rangeSentence(), QStringLiteral("Write a whole number from 1 to 999."));
    whole.setRange(1, std::numeric_limits<double>::infinity());
    QCOMPARE(whole.rangeSentence(), QStringLiteral("Write a whole number of at least 1."));
}

void TestNumberField::keys() {
    NumberField* field =
        new NumberField(*m_theme, NumberField::Kind::Whole, QStringLiteral("Batch"));
    field->setParent(m_window);
    field->setRange(1, 500);
    field->setValue(32);
    field->show();
    field->setFocus();
    QSignalSpy told(field, &NumberField::valueChanged);
    const auto press = [field](Qt::Key key, Qt::KeyboardModifiers modifiers = {}) {
        QTest::keyClick(field, key, modifiers);
        return *field->value();
    };
    QCOMPARE(press(Qt::Key_Up), 33.0);
    QCOMPARE(press(Qt::Key_Down), 32.0);
    QCOMPARE(press(Qt::Key_PageUp), 42.0);
    QCOMPARE(press(Qt::Key_PageDown), 32.0);
    QCOMPARE(press(Qt::Key_Up, Qt::ControlModifier), 64.0);
    QCOMPARE(press(Qt::Key_Down, Qt::ControlModifier), 32.0);
    QCOMPARE(told.count(), 6);
    field->setValue(499);
    QCOMPARE(press(Qt::Key_PageUp), 500.0);
    field->setValue(1);
    QCOMPARE(press(Qt::Key_Down), 1.0);
}

void TestNumberField::stepsOfRealNumbers() {
    m_field->setValue(0.001);
    QTest::keyClick(m_field, Qt::Key_Up);
    QCOMPARE(*m_field->value(), 0.0011);
    QCOMPARE(edit()->text(), QStringLiteral("0,0011"));
    m_field->setValue(0.001);
    QTest::keyClick(m_field, Qt::Key_Down);
    QCOMPARE(*m_field->value(), 0.00099);
    for (int i = 0; i < 300; ++i) {
        QTest::keyClick(m_field, Qt::Key_Down);
        QVERIFY(*m_field->value() > 0);
    }
    m_field->setStep(0.25);
    m_field->setValue(1.0);
    QTest::keyClick(m_field, Qt::Key_Up);
    QCOMPARE(*m_field->value(), 1.25);
}

void TestNumberField::wheelOnlyWithFocus() {
    const auto turn = [this](int by) {
        QWheelEvent event(QPointF(10, 10), m_field->mapToGlobal(QPointF(10, 10)), {}, {0, by},
                          Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(m_field, &event);
        return event.isAccepted();
    };
    m_window->findChild<QLineEdit*>(QString(), Qt::FindDirectChildrenOnly)->setFocus();
    QVERIFY(!m_field->hasFocus());
    QVERIFY(!turn(120));
    QCOMPARE(*m_field->value(), 0.1);
    m_field->setFocus();
    QVERIFY(turn(120));
    QCOMPARE(*m_field->value(), 0.11);
}

void TestNumberField::optionalMayBeEmpty() {
    type("");
    QTest::keyClick(m_field, Qt::Key_Delete);
    QVERIFY(!m_field->problem().isEmpty());
    QCOMPARE(*m_field->value(), 0.1);
    m_field->setOptional(QStringLiteral("none"));
    m_field->setValue(3.0);
    QSignalSpy told(m_field, &NumberField::valueChanged);
    edit()->selectAll();
    QTest::keyClick(m_field, Qt::Key_Delete);
    QVERIFY(m_field->problem().isEmpty());
    QVERIFY(!m_field->value());
    QCOMPARE(told.count(), 1);
}

void TestNumberField::setValueEmitsNothing() {
    QSignalSpy told(m_field, &NumberField::valueChanged);
    m_field->setValue(7.0);
    QCOMPARE(told.count(), 0);
    QCOMPARE(edit()->text(), QStringLiteral("7"));
}

void TestNumberField::accessible() {
    m_field->setValue(0.25);
    QAccessibleInterface* interface = QAccessible::queryAccessibleInterface(m_field);
    QVERIFY(interface);
    QCOMPARE(interface->text(QAccessible::Name), QStringLiteral("Learning rate"));
    QVERIFY(interface->valueInterface());
    QCOMPARE(interface->valueInterface()->currentValue().toDouble(), 0.25);
    QCOMPARE(interface->valueInterface()->maximumValue().toDouble(), 10.0);
}

QTEST_MAIN(TestNumberField)
#include "tst_ui_number_field.moc"
